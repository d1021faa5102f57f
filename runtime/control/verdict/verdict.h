#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/control/verdict/action_progress.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// A host and its ranks, which are sorted.
struct HostRanks {
  std::string name;  ///< as the host calls itself
  std::vector<int> ranks;

  bool operator==(const HostRanks&) const = default;
};

/// Hosts as text: "host h3 (ranks 12 to 15)", "hosts h2 (ranks 8 to 11) and h3 (rank 12)". After
/// eight hosts the others are counted: "... and 92 more".
std::string hostsText(const std::vector<HostRanks>& hosts);

/// Why a run ends early. Where several are known of one rank, the first in this list counts.
enum class CauseKind : std::uint8_t {
  kDied,       ///< its process ended without a word
  kFailed,     ///< its work threw an exception
  kSilent,     ///< nothing was heard of it: its host is gone, or it was stopped
  kStalled,    ///< it has ended no action for too long, and waits for nobody
  kMispaired,  ///< it waits for a message that its sender does not send (any more)
  kCycle,      ///< ranks wait for each other
  kLostPeer,   ///< it lost the connection to another rank, which lives
  kCutOff,     ///< it heard nothing of any other rank, or its side of a cut nothing of the other
  kStopped,    ///< somebody asked it to stop; a consequence if anything else is known of any rank
};

/// Whether the cause is that ranks do not hear of each other.
constexpr bool isSilence(CauseKind kind) {
  return kind == CauseKind::kSilent || kind == CauseKind::kCutOff;
}

/// The first cause that ended a run, not what followed from it.
struct FailureCause {
  CauseKind kind = CauseKind::kDied;
  /// The culprit. In a cycle: the rank that stood still longest. With `hosts`,
  /// it is the lowest of their ranks, but for kCutOff the lowest on this side of the cut.
  int rank = -1;
  ActionStatus status;     ///< of the culprit, the latest that is known
  Nanoseconds lasted = 0;  ///< for how long it was silent, or stood still
  std::string reason;      ///< kFailed, kLostPeer: the text of the error; kStopped: by what
  /// kCycle: the ranks, each of which waits for the next one, and the last one for the first.
  struct Member {
    int rank = -1;
    ActionStatus status;
    bool operator==(const Member&) const = default;
  };
  std::vector<Member> cycle;
  /// kSilent, kCutOff: the hosts that were not heard of, by their lowest rank. Empty: the culprit
  /// is a single rank.
  std::vector<HostRanks> hosts;
  /// kSilent: the hosts that have not heard of `hosts`, where others have. Empty: no rank has.
  std::vector<HostRanks> missedBy;

  bool operator==(const FailureCause&) const = default;
};

/// Only the plan knows these. All functions may be called by any thread; empty ones are allowed.
struct PlanWords {
  /// The name of an action of a rank, such as "1F3".
  std::function<std::string(int rank, const ActionStatus& status)> action;
  /// The name of the message for which the rank waits: "the activation of micro-batch 3".
  std::function<std::string(int rank, const ActionStatus& waiting)> message;
  /// Whether the plan of `rank` has it wait for that message in that action. Without it, a rank
  /// that waits for a wrong message is one of a cycle.
  std::function<bool(int rank, const ActionStatus& waiting)> isExpected;
  /// Whether the sender, from where it is in its plan, still sends the message for which `rank`
  /// waits. Without it, only ranks that have ended all their actions are known to send nothing.
  std::function<bool(int rank, const ActionStatus& waiting, const ActionStatus& sender)>
      isStillSent;
};

/// Returns the cause in plain English, as `self` tells it: "rank 2 died, last seen in 1F3 (7
/// actions ended)", what it waited for, and where this rank was.
std::string verdictText(const FailureCause& cause, const PlanWords& words, int self,
                        const ActionStatus& own);

/// "in 1F3 (7 actions ended), waiting for message 5 from rank 1".
std::string statusText(int rank, const ActionStatus& status, const PlanWords& words);

/// One rank's word that something ended the run.
struct Observation {
  int observer = -1;
  Nanoseconds noticed = 0;  ///< when, on any clock that all observations share
  FailureCause cause;
};

/// The cause that came first, from what all ranks noticed. A stop counts only if nothing else was
/// noticed, and silence only if no rank died. Hang-ups that follow from it reach some
/// ranks sooner than itself, so it returns the rank that most observers noticed first; then the one
/// noticed longest ago; then the lowest. Does not depend on the order of `all`, which has at least
/// one observation.
FailureCause firstCause(std::span<const Observation> all);

}  // namespace pipetrace
