#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The time inside the compute jobs of one stage on one rank in one step, for jobs with the times
/// of a device: length = busy + comm_inside + launch_bound. Jobs that overlap count each.
struct StageDeviceWork {
  int rank = 0;
  std::int32_t stage = 0;  ///< kNotGiven: the jobs do not say
  std::int32_t step = 0;   ///< kNotGiven: the jobs do not say
  std::int64_t jobs = 0;
  std::int64_t kernels = 0;
  Nanoseconds length = 0;
  Nanoseconds busy = 0;        ///< the device worked for the job
  Nanoseconds commInside = 0;  ///< it did not, while a collective of the job ran
  /// Neither. Where clocks were aligned, lengths are those of another clock than the two others.
  Nanoseconds launchBound() const { return std::max<Nanoseconds>(0, length - busy - commInside); }
};

/// By rank, stage and step, of the steps that count (countedPhaseOf()); empty for a run without
/// such jobs (trace/event_arguments.h).
std::vector<StageDeviceWork> deviceWorkOf(const Timeline& timeline);

/// The sums over the steps, by rank and stage; `step` is that of the first. `work` is in the order
/// of deviceWorkOf().
std::vector<StageDeviceWork> overSteps(const std::vector<StageDeviceWork>& work);

}  // namespace pipetrace
