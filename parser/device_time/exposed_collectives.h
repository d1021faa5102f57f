#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/nanoseconds.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A collective that a job started on its device.
struct StartedCollective {
  std::int32_t job = -1;
  StringId group = 0;  ///< its members
  JobKind kind = JobKind::kAllReduce;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  bool isOfWeights = false;  ///< of replicas: a gather of weights is for what comes next
  std::uint32_t nth = 0;     ///< of its job, among those of its group and kind; set by the call
};

/// The messages of a job.
struct MessagesOfJob {
  Nanoseconds received = kNsMin;  ///< when the last one that it receives was there
  Nanoseconds sent = kNsMax;      ///< when the first one that it sends began
};

/// The work of a device besides its collectives and messages: [begin, end) each, in any order.
using DeviceWork = std::vector<std::pair<Nanoseconds, Nanoseconds>>;

/// Jobs reach from the first to the last work on their device, their own collectives included that
/// hold it up. Gives them the times of those: one before the first kernel of a job that the kernel
/// had to wait for, and one after its last kernel before which the device does nothing else. Data
/// that a job before has asked for (FSDP's prefetch) hold up the job whose first kernel follows.
///
/// A collective that runs beside the work of later jobs, or beside a collective that a later job
/// started with other ranks, holds up nobody: it is of no job. Those of
/// one place (the n-th of its members and kind in the jobs of a stage and kind) count alike, as a
/// run in which a rank waits anyway does not show which it is: where one in ten runs beside other
/// work, none is of its job. So does one that fewer than half of these jobs have, such as the sum
/// of gradients that the last backward of a step starts.
///
/// Job i of `jobs` has the number i, and the messages messages[i]; only those with times of their
/// work change. The time before a job's messages are there is no wait for a collective, and one
/// that still runs when the job sends its own holds up nothing.
void addExposedCollectives(std::span<Event> jobs, std::vector<StartedCollective> collectives,
                           DeviceWork work, std::span<const MessagesOfJob> messages,
                           Timeline& timeline);

}  // namespace pipetrace
