#pragma once

#include <cstdint>
#include <vector>

#include "trace/job_kind.h"
#include "trace/nanoseconds.h"
#include "trace/strings/string_table.h"

namespace pipetrace {

/// A kernel that a CUDA graph ran.
struct GraphKernel {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::int64_t launch = 0;  ///< the correlation of the graph's launch
  std::int64_t node = 0;    ///< its node: nodes count in the order of the capture
  std::int32_t step = -1;   ///< below 0: not known, or that of another kernel of the launch
  StringId name = 0;
  bool isMessage = false;  ///< it sends or receives between two ranks
};

/// A compute job of a rank whose kernels name none.
struct GraphJob {
  Nanoseconds begin = 0;  ///< of its first kernel
  Nanoseconds end = 0;    ///< of its last one
  JobKind kind = JobKind::kForward;
  std::int32_t step = 0;
  std::int32_t microBatch = 0;  ///< its place among the jobs of its kind and step, from 0
};

struct GraphJobs {
  /// By begin; empty where the kernels do not tell.
  std::vector<GraphJob> jobs;
  /// No message parts one kind of jobs from another, as in the last stage. Forwards and the
  /// backwards right behind them were parted by the kernels that they have. Where these do not
  /// tell, each is one forward, which has its backward in it if there is one.
  bool arePairs = false;
};

/// Finds the compute jobs of a rank whose work runs in CUDA graphs.
///
/// A program captures its calls in their order, so a message, or the end of a graph, parts two
/// jobs. The kernels between two messages are one job, or several: a run of kernels that stands
/// alone elsewhere is cut off. Jobs of a kind have about the same kernels. The kind
/// that comes first is the forward, the next one the backward, and a third one the weight half of
/// the backward. Where each forward has its backward right behind it, as in the last stage, they
/// part where the kernels before and behind have the least in common.
///
/// Kernels of one name count as alike first. If that tells nothing, those whose usual lengths
/// differ count as different.
///
/// Nothing is found where kinds have different counts, or a backward would come before its forward.
/// Collectives must be left out. O(n log n) in the kernels.
GraphJobs findGraphJobs(std::vector<GraphKernel> kernels);

}  // namespace pipetrace
