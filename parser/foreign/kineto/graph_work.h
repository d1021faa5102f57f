#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// A rank's work, as far as kernels of CUDA graphs tell it.
struct GraphWork {
  std::vector<Event> jobs;  ///< by begin, with numbers from 0
  std::vector<Event> sends;
  std::vector<Event> receives;
  std::int64_t jobsFound = 0;  ///< how many of the jobs no kernel names
  bool arePairs = false;       ///< GraphJobs::arePairs, of these
  bool hasGraphs = false;
};

/// Makes jobs and messages of kernels that name theirs themselves. Those of CUDA graphs do, where
/// torch has merged the annotations into the trace (`args.name`). All kernels with one name in one
/// launch of a graph are one job. Streams say nothing: graphs give them other numbers when they are
/// replayed. Messages leave their lanes.
///
/// Where no kernel names a job, jobs are found by the order of kernels (findGraphJobs).
///
/// `devices`: the lanes of a rank's devices; `stepOf`: the step of a kernel, or kNotGiven.
GraphWork graphWork(std::span<ForeignTrace::Lane* const> devices, const KinetoWords& words,
                    ForeignNames& names, const std::function<std::int32_t(const Event&)>& stepOf,
                    Timeline& timeline);

}  // namespace pipetrace
