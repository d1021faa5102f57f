#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "analysis/causes/slower_than_others.h"
#include "analysis/causes/unsteady_jobs.h"
#include "analysis/run/bubbles/bubbles.h"
#include "analysis/run/steps/counted_steps.h"

namespace pipetrace {

inline constexpr std::size_t kMostExamples = 3;

/// Idle time of one class that one stage, link or rank caused, with what jobs waited inside for
/// other ranks (Bubbles::inside). A rank causes kBlocked if a message
/// held its line. Late starts of messages, and those for data, are groups
/// apart from those of jobs.
struct CulpritGroup {
  BubbleClass bubbleClass = BubbleClass::kUnknown;
  int rank = -1;            ///< whose job or message it is; of several the one with most
  int peer = -1;            ///< transfers: the other end of the link
  std::int32_t stage = -1;  ///< of its jobs; −1: several, or not known
  Nanoseconds time = 0;     ///< of all ranks
  Nanoseconds inside = 0;   ///< the part of it that is no idle time
  /// The time of the job with most of it, over all steps: forward 5 of stage 2 in each of them.
  Nanoseconds timeOfJob = 0;
  JobGraph::Id job =
      JobGraph::kNone;         ///< that job in one step, the one with most; kBlocked: a message
  std::int32_t step = -1;      ///< that step
  Nanoseconds timeOfStep = 0;  ///< what that job costs in that step
  std::vector<std::pair<std::uint32_t, Bubble>> examples;  ///< the longest, with their ranks
  /// kBlocked: the messages in front, alike in every step, each with what it costs and one of its
  /// ends; the most expensive first.
  std::vector<std::pair<Nanoseconds, JobGraph::Id>> fronts;
  bool isAtSender = false;  ///< kBlocked: `job` is a message that held its sender's line
  /// The late message of the longest bubble (lateMessageOf()), of `job` where that has one; kNone:
  /// the group is of no messages. `job` sent it, or needs it.
  JobGraph::Id lateMessage = JobGraph::kNone;
  /// Not empty: the group is of these messages or jobs alone, ascending (Outliers). The others of
  /// their link or rank are a group by themselves.
  std::vector<JobGraph::Id> outliers;
};

/// Finds the messages and jobs that are too long to say anything about the others of their link, or
/// of their stage and kind. They take at least kManyTimes their median, and more than a tenth of a
/// median step. A link that was cut once makes such messages. So are messages that their rank sends
/// as much later after the job that made their data than it sends its others in the median, where
/// they are not in line; and jobs that pause (ScatteredPauses), which also make others wait by
/// beginning late.
class Outliers {
 public:
  static constexpr Nanoseconds kManyTimes = 10;

  /// All must outlive it. `stepLength`: MedianStep::window.
  Outliers(const JobGraph& graph, const MedianDurations& times, const LinkTimes& links,
           const ScatteredPauses& pauses, Nanoseconds stepLength)
      : graph_(graph), times_(times), links_(links), pauses_(pauses), least_(stepLength / 10) {}

  /// The message or job that makes the bubble's cause one of its own; else kNone.
  JobGraph::Id of(const Bubble& bubble) const;

 private:
  bool isSentLate(JobGraph::Id message) const;
  void findUsualDelays() const;

  const JobGraph& graph_;
  const MedianDurations& times_;
  const LinkTimes& links_;
  const ScatteredPauses& pauses_;
  Nanoseconds least_;
  // By sender, found when a message may have been sent late.
  mutable std::once_flag areDelaysFound_;
  mutable std::vector<Nanoseconds> usualDelays_;
};

/// Idle time by who caused it.
struct Culprits {
  /// By class and by whom its row blames; the largest first.
  std::vector<CulpritGroup> groups;
  /// By waiting rank and culprit's rank, both as indices in JobGraph::ranks().
  std::map<std::pair<std::uint32_t, std::uint32_t>, Nanoseconds> byRanks;
};

/// The culprits of the bubbles in the steps that count. Imbalance is blamed on the stages that
/// `stages` says. Uses that many threads, which makes no difference to the result.
Culprits culpritsOf(const JobGraph& graph, const Bubbles& bubbles, const SlowerStages& stages,
                    const Outliers& outliers, const CountedSteps& counted, int threads = 1);

/// The group that a bubble belongs to; null where it has no culprit, or its step does not count.
const CulpritGroup* groupOf(const JobGraph& graph, const Culprits& culprits, const Bubble& bubble);

/// The ranks between which the message of a bubble of class transfer went: sender, receiver; −1
/// where one is not known.
std::pair<int, int> linkOf(const JobGraph& graph, const Bubble& transfer);

}  // namespace pipetrace
