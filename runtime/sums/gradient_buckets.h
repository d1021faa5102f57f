#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace pipetrace {

/// One of the buckets into which the gradients of a stage are cut.
struct GradientBucket {
  int stage = 0;
  int number = 0;  ///< from 0
  int of = 1;      ///< how many there are
  /// Whether it has the parameters of the blocks of that part of the last backward
  /// (blocksOfPart()).
  bool isOfPart = false;
};

/// The gradients of stages that stand on several ranks. A bucket is a tensor of bytes on the rank's
/// device, whose layout is the same on all ranks of the stage. Each rank adds up a part of it.
///
/// Threads: the compute thread.
class GradientBuckets {
 public:
  /// Buckets are as long as a multiple of that, and may be cut at its multiples.
  static constexpr std::int64_t kUnit = 16;

  virtual ~GradientBuckets() = default;

  /// Copies this rank's gradients into a new bucket. They are views of it from then on.
  virtual at::Tensor fill(const GradientBucket& bucket) = 0;
  /// The sum of one part of the bucket over all ranks: `parts` are theirs, in the order of ranks,
  /// and begin at `first`. A tensor of its own.
  virtual at::Tensor addUp(const GradientBucket& bucket, std::int64_t first,
                           const std::vector<at::Tensor>& parts) = 0;
  /// The tensor that fill() has returned now holds the sums of all ranks.
  virtual void summed(const GradientBucket& bucket) = 0;
};

}  // namespace pipetrace
