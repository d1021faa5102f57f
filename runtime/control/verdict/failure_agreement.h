#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/control/verdict/control_message.h"
#include "runtime/control/verdict/find_stall.h"
#include "runtime/control/verdict/reachability.h"
#include "runtime/control/verdict/verdict.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The limits of a run whose ranks tell every 100 ms where they are; limitsAt() makes those
/// of runs with a longer beat.
struct FailureLimits {
  StallLimits stall;
  Nanoseconds silence = 8 * kNsPerSecond;  ///< a rank that says nothing for so long; 0: no limit
  /// For how long other causes may still come in before the lowest rank that lives decides.
  Nanoseconds settle = 300 * kNsPerMs;
  /// After so long a rank decides alone: the one that should have is gone, too. If a rank is
  /// silent, the rank that decides waits so long for what others have heard. The others then wait
  /// longer, by as much as `alone` is longer than `settle`.
  Nanoseconds alone = 800 * kNsPerMs;
  /// How long a lost connection may turn out to be the consequence of something else.
  Nanoseconds lostPeer = 1500 * kNsPerMs;
};

/// One rank's part in finding, together with the others, what ended the run: all end with the same
/// cause. Every rank tells all others what it notices; the lowest rank that nobody suspects takes
/// the first cause of all and tells it. Once a rank is silent, each tells of which ranks it has not
/// heard, so that the cause can be a host that is gone or cut off (Reachability).
///
/// Knows no sockets and no clock. Times are of one clock, and do not go back. After each call the
/// caller sends takeMessages() to all ranks. Threads: one at a time.
class FailureAgreement {
 public:
  /// Everyone else counts as heard of at `now`. `words` must outlive it.
  FailureAgreement(int rank, int worldSize, const FailureLimits& limits, const PlanWords& words,
                   Nanoseconds now);

  /// The host of each rank, by rank. Empty, or with an empty name: hosts are not known, and a cause
  /// names ranks only. Before the first tick().
  void hostsAre(const std::vector<std::string>& hosts) { reachability_.hostsAre(hosts); }

  /// In a run whose ranks are connected as a tree: this rank is connected with these alone, and
  /// hears of others what these pass on. It watches its neighbours, and only rank 0, to which all
  /// statuses go, looks for stalls. Called before the first tick().
  void isInTree(const std::vector<int>& neighbours);
  /// This rank stands there; `status.idle` counts up to now.
  void own(const ActionStatus& status);
  /// A message of another rank; not kHello.
  void heard(int from, const ControlMessage& message, Nanoseconds now);
  /// The connection to a rank has ended.
  void closed(int from, Nanoseconds now);
  /// This rank's work has failed.
  void failed(const std::string& reason, Nanoseconds now);
  /// This rank lost a connection, which follows from another cause if one comes to light.
  void lostPeer(const std::string& reason, Nanoseconds now);
  /// This rank was asked to stop: "stopped by SIGTERM".
  void stopped(const std::string& reason, Nanoseconds now);
  /// This rank has ended all its actions.
  void finish();
  /// This rank's control thread did not run for so long, until `now`: nobody else is to blame for
  /// it. A rank that was heard since it woke counts as heard at `now`, not later.
  void slept(Nanoseconds time, Nanoseconds now);
  /// Looks for silence and stalls, and decides when it is time.
  void tick(Nanoseconds now);

  /// Messages for all other ranks.
  std::vector<ControlMessage> takeMessages();

  const ActionStatus& ownStatus() const { return member(rank_).status; }
  const std::optional<FailureCause>& verdict() const { return verdict_; }
  /// Whether something was noticed: the next messages matter at once.
  bool isAlarmed() const {
    return !observations_.empty() || reachability_.hasBegun() || pendingSince_ != kNsMin;
  }
  /// Whether every rank has ended all its actions.
  bool isFinished() const;

 private:
  struct Member {
    ActionStatus status;
    Nanoseconds heard = 0;
    bool isOpen = true;      // the connection
    bool mayGo = false;      // it said why it ends
    bool hasSpoken = false;  // it has noticed something
    bool isWatched = true;   // it has to be heard all the time
  };

  Member& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  const Member& member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  bool isSuspected(int rank) const;
  bool hasNoticed(int observer, int culprit) const;
  bool hasNoticedSilence() const;
  void notice(CauseKind kind, int rank, Nanoseconds now, const std::string& reason = {},
              Nanoseconds lasted = 0);
  void notice(FailureCause cause, Nanoseconds now);
  void lookForSilence(Nanoseconds now);
  void lookForStall(Nanoseconds now);
  std::vector<int> missed(Nanoseconds now) const;
  void tellMissed(Nanoseconds now);
  bool isSilenceAll() const;
  bool isTimeToDecide(Nanoseconds now) const;
  bool isTimeToTellSilence(Nanoseconds now) const;
  FailureCause cause() const;
  void decide(const FailureCause& cause);

  const int rank_;
  const FailureLimits limits_;
  const PlanWords& words_;
  bool isTree_ = false;
  std::vector<Member> members_;
  StallWatch stalls_;
  Reachability reachability_;
  std::vector<Observation> observations_;  // of all ranks
  std::vector<ControlMessage> messages_;
  Nanoseconds alarmed_ = 0;  // since the first observation
  std::string pendingReason_;
  Nanoseconds pendingSince_ = kNsMin;
  std::optional<FailureCause> verdict_;
};

/// The time after which a rank tells all others again where it is. That is 4 ms for each rank of
/// the run, but 100 ms at least and 1 s at most.
Nanoseconds beatOf(int worldSize);

/// The limits of a run with this beat; `limits` are those for a beat of 100 ms. A rank that has
/// noticed nothing reads what others say once a beat. So the ranks agree only if the one that
/// decides waits longer than a beat for causes, and the others longer than that and one more beat.
FailureLimits limitsAt(Nanoseconds beat, FailureLimits limits);

/// The limits of a run whose ranks are connected as a tree with this number of levels. They read
/// what others say at once, but it takes its way through the tree, and a status takes a beat for
/// each level.
FailureLimits limitsInTree(Nanoseconds beat, int levels, FailureLimits limits);

}  // namespace pipetrace
