#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/waits/wait_network.h"
#include "trace/job_kind.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

class PlanTiming;

/// As a link of the critical path says it.
std::string_view toText(WaitReason reason);

/// A chain of jobs and messages without gaps that makes up a step's length. It runs from the start
/// of the step, on the rank of the first link, to the end of the last job of all ranks.
struct CriticalPath {
  struct Link {
    /// A job of the compute lane, send_* for a message, recv_forward for an acknowledgement, or
    /// all_reduce.
    JobKind kind = JobKind::kForward;
    int rank = 0;      ///< of a message: its sender; of a reduction: the last that came to it
    int peer = -1;     ///< of a message: its receiver
    int cell = -1;     ///< of the action in the plan; -1: lr, optimizer or a message
    std::string text;  ///< its cell in schedule files; of a message that of its send
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    WaitReason reason = WaitReason::kStepBegin;
    /// The time between when the job of `text` could have begun and its late launch.
    bool isLaunch = false;
    /// The acknowledgement that the job of `text` gives back (Plan::credits), on its way from
    /// `rank` to `peer`.
    bool isAcknowledgement = false;

    /// The kind, or "launch" or "ack".
    std::string_view name() const {
      return isLaunch ? "launch" : isAcknowledgement ? "ack" : logName(kind);
    }
  };
  std::vector<Link> links;  ///< in time order

  Nanoseconds length() const { return links.empty() ? 0 : links.back().end - links.front().begin; }
  /// How much of the length is spent on each name() of a link, launches and acknowledgements last.
  /// The sum is length().
  std::vector<std::pair<std::string_view, Nanoseconds>> totals() const;
};

/// The critical path of the step that `timing` ran last, through its network: from each operation
/// to the one that it waited for. Rank r ended the step at ends[r], after its last `optimizer`.
/// Where both the rank and a message held a job up, the rank counts. The path begins later where it
/// meets a message or an acknowledgement of the step before.
CriticalPath findCriticalPath(const PlanTiming& timing, const std::vector<Nanoseconds>& ends);

}  // namespace pipetrace
