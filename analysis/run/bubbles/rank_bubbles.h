#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "analysis/run/bubbles/bubbles.h"

namespace pipetrace {

/// Classifies the idle time of one rank, window after window.
class RankBubbles {
 public:
  /// Both must outlive it. `rank`: index in graph.ranks().
  RankBubbles(const RunBasis& run, const PipelineBasis& basis, std::uint32_t rank);

  /// Goes on up to the window with that index in basis.windows; it is not included.
  void classifyUpTo(std::size_t window);
  /// The sums of the bubbles.
  const ClassTimes& times() const { return times_; }
  std::vector<Bubble> take() { return std::move(bubbles_); }
  /// What its jobs waited inside.
  std::vector<Bubble> takeInside() { return std::move(inside_); }

 private:
  using Id = JobGraph::Id;

  /// Time without a compute job.
  struct Gap {
    Interval span;
    Id next = JobGraph::kNone;      ///< the compute job that begins at its end, or later
    Id previous = JobGraph::kNone;  ///< the last compute job before it
    const BubbleWindow* window = nullptr;

    Id endedBy(const JobGraph& graph) const;
  };
  /// The schedule's own share of a gap.
  struct Own {
    Nanoseconds drain = 0;  ///< comes first
    Nanoseconds other = 0;
    BubbleClass otherClass = BubbleClass::kDrain;
  };
  /// The part of a gap that stays at its own times: the rank's own lr, optimizer, default and data
  /// jobs. So do the collectives that these or the job after the gap waited for last.
  struct OwnWork {
    Nanoseconds all = 0;
    Nanoseconds collectives = 0;  ///< but those that are unknown
    Nanoseconds unknown = 0;
  };
  /// The excess of a gap that has a cause, and the job that caused most of it.
  struct CauseShare {
    Nanoseconds time = 0;
    Nanoseconds largest = 0;
    Id job = JobGraph::kNone;  ///< of kBlocked an end of a message
  };
  struct Share {
    BubbleClass bubbleClass = BubbleClass::kUnknown;
    Nanoseconds time = 0;
    Id cause = JobGraph::kNone;
    Id culprit = JobGraph::kNone;
    bool isAtSender = false;
  };

  void classifyWindow(const BubbleWindow& window);
  void classify(const Gap& gap);
  OwnWork putOwnWork(const Gap& gap, Id endedBy);
  Nanoseconds thereAt(Id input, Nanoseconds loaded) const;
  void findOwnWork(const Gap& gap, Id endedBy);
  void addCollectives(const Gap& gap, Id job);
  Nanoseconds shareTail(const Gap& gap, Nanoseconds excess, const OwnWork& ownWork,
                        Nanoseconds& sync);
  Collected collectedFor(const Gap& gap, Id endedBy);
  Collected collectedForWait(Id job);
  Collected collectedForTail(const Gap& gap);
  Nanoseconds addLateOpening(const Gap& gap, const WaitPath& path, Collected& collected) const;
  void addShortness(const Gap& gap, Id after, Collected& collected) const;
  Id culpritOf(BubbleClass bubbleClass, Id cause) const;
  Id userOf(Id message) const;
  Id lastInputOf(Id job) const;
  void shareCaused(Nanoseconds excess, const Collected& collected, const BubbleWindow& window);
  void shareExcess(Nanoseconds excess, const Collected& collected);
  void fill(Interval gap, std::int32_t step);
  void put(const Bubble& bubble) {
    times_[static_cast<std::size_t>(bubble.bubbleClass)] += bubble.end - bubble.begin;
    bubbles_.push_back(bubble);
  }
  Own ownOf(const Gap& gap, Id endedBy, Nanoseconds open);
  BubbleClass classBefore(Id job);
  void add(BubbleClass bubbleClass, Nanoseconds time, Id cause = JobGraph::kNone);
  void addCause(BubbleClass cause, Nanoseconds time, Id job) {
    CauseShare& share = causes_[causeIndex(cause)];
    share.job = time > share.largest ? job : share.job;
    share.largest = std::max(share.largest, time);
    share.time += time;
  }
  void addShareOf(BubbleClass cause);
  void addWaitsInside(Id job, std::int32_t step);
  void addWaitInside(const InsideJobs::Meeting& wait, const Bubble& like);

  const RunBasis& run_;
  const JobGraph& graph_;
  const BindingPaths& links_;
  const PipelineBasis& basis_;
  std::uint32_t number_;
  const JobGraph::Rank& rank_;
  PathsOfRank paths_;
  std::vector<Bubble> bubbles_;
  std::vector<Bubble> inside_;
  std::size_t firstOfJob_ = 0;  // in inside_: those of the latest job
  ClassTimes times_{};
  // Up to where it went.
  std::size_t window_ = 0;
  Id at_ = JobGraph::kNone;
  Id previous_ = JobGraph::kNone;
  Nanoseconds busyUpTo_ = kNsMin;
  /// How much shorter than in the plan the rank's jobs usually are: the sum of those before each.
  std::vector<Nanoseconds> shortness_;
  Nanoseconds mostShort_ = 0;   // of one job
  std::size_t firstOfGap_ = 0;  // in bubbles_: the rank's own work in the gap
  std::vector<Bubble> own_;     // stays at its own times in the gap
  std::vector<Share> shares_;   // of the gap, in the order in which they are drawn
  std::array<CauseShare, kCauses.size()> causes_;  // of the gap, by causeIndex()
  Nanoseconds shortfall_ = 0;                      // of earlier gaps of the window
  std::int32_t phasesOf_ = -1;                     // the step of the next two
  Id lastForward_ = JobGraph::kNone;
  Id firstOther_ = JobGraph::kNone;
};

}  // namespace pipetrace
