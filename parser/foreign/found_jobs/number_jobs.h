#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "parser/foreign/found_jobs/find_jobs.h"
#include "trace/event.h"

namespace pipetrace {

/// The numbers of a found job, as far as its rank alone gives them.
struct JobNumbers {
  std::int32_t step = kNotGiven;
  /// The place of its forward among those of the step, from 0. Backwards whose forward is not known
  /// by number are those of the step's other forwards in their order, if there are as many; else
  /// they have kNotGiven.
  std::int32_t microBatch = kNotGiven;
  std::int32_t backwardMicroBatch = kNotGiven;  ///< of a fused pair: that of its backward
};

/// Numbers jobs by their order. `stepAt`: the step at a time, or kNotGiven. Where it knows none,
/// steps count from 0, and the next one begins after each optimizer; `optimizers`: their begins,
/// ascending.
std::vector<JobNumbers> numberByOrder(const std::vector<FoundJob>& jobs,
                                      const std::function<std::int32_t(Nanoseconds)>& stepAt,
                                      std::span<const Nanoseconds> optimizers);

}  // namespace pipetrace
