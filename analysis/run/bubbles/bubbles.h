#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/bubbles/run_basis.h"
#include "analysis/run/steps/counted_steps.h"
#include "trace/bubble_class.h"

namespace pipetrace {

/// Idle time of one class, and what caused it.
struct Bubble {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  /// The job or message that cost most; kNone: the schedule's own, or not known. A transfer that is
  /// not logged has the job that needs it.
  JobGraph::Id cause = JobGraph::kNone;
  /// The job that is to blame; kNone where it is not known. For a transfer it is the one that sent
  /// the message, for a collective the member that began last, else the cause. For kBlocked both
  /// are the message in front. For a late message it is the job that sent it, or where the receive
  /// was posted last the job that needs it (lateMessageOf()).
  JobGraph::Id culprit = JobGraph::kNone;
  std::int32_t step = kNotGiven;  ///< of the window
  BubbleClass bubbleClass = BubbleClass::kUnknown;
  bool isAtSender = false;  ///< of kBlocked: the message held the line of its sender
  /// It is no idle time: so long a job that begins with it waited inside for other ranks.
  bool isInside = false;
};

/// The message that was posted late, where one is the cause of a bubble of kLateStart; else kNone.
JobGraph::Id lateMessageOf(const JobGraph& graph, const Bubble& bubble);

/// The end of the message in front of a bubble of kBlocked (JobGraph::LineEnd).
JobGraph::Id frontEndOf(const JobGraph& graph, const Bubble& bubble);

/// The rank that is to blame, as an index in JobGraph::ranks(). The bubble must have a culprit. A
/// message in front is blamed on the rank whose line it held.
std::uint32_t culpritRankOf(const JobGraph& graph, const Bubble& bubble);

/// The event that is to blame: a job, the end of the message in front that held the line, or that
/// end of a late message that was posted last. The bubble must have a culprit.
const Event& culpritEventOf(const JobGraph& graph, const Bubble& bubble);

/// Its name: a job's (job_name.h), or "4RECV_F1" for an end of a message.
std::string culpritName(const Timeline& timeline, const JobGraph& graph, const Bubble& bubble);

/// The idle time of all ranks by class and culprit, as docs/metrics.md defines it.
struct Bubbles {
  /// By index in JobGraph::ranks(), ascending and without overlap.
  std::vector<std::vector<Bubble>> byRank;
  std::vector<ClassTimes> times;  ///< their sums, by index in JobGraph::ranks()
  /// What jobs waited inside for other ranks (InsideJobs), by index in JobGraph::ranks(), in the
  /// order of the jobs: those of a job by class and culprit.
  std::vector<std::vector<Bubble>> inside;
};

/// Gives each nanosecond of a step's window in which a rank ran no compute job a class. The classes
/// of a rank add up to its idle time. Uses that many threads, which makes no difference to the
/// result. Nobody else may use the paths of the basis meanwhile.
Bubbles classifyBubbles(const RunBasis& basis, int threads = 1);

/// Bubbles as events that are ready to join their timeline. Others may read the timeline while they
/// are made.
struct BubbleLanes {
  std::vector<Track> tracks;  ///< one of each rank that has any
  /// The names of culprits. Bubbles have them as arguments, which begin at `firstArgument` of the
  /// timeline.
  std::vector<std::string> culprits;
  std::size_t firstArgument = 0;
  /// The jobs in which ranks meet, and their parts, which become arguments (inside_arguments).
  std::vector<std::pair<const Event*, InsideJobs::Parts>> parts;
  /// The same of collectives, as far as they are waiting and moving of jobs.
  std::vector<std::pair<const Event*, InsideJobs::Parts>> collectives;
};

/// Makes the events of `bubbles`. `graph` is that of `timeline`, which must not get other arguments
/// before joinBubbles().
BubbleLanes bubbleLanes(const Timeline& timeline, const JobGraph& graph, const Bubbles& bubbles,
                        int threads = 1);
/// The same. The bubbles of each rank are freed when its events are made.
BubbleLanes bubbleLanes(const Timeline& timeline, const JobGraph& graph, Bubbles&& bubbles,
                        int threads = 1);

/// Adds the bubbles of steps of other phases than the summary's, each with the phase of its step.
/// The jobs of a phase have a graph of their own, so that no other number changes. `lanes`: of that
/// timeline.
void addOtherPhases(const Timeline& timeline, const Topology& topology, const RunSummary& summary,
                    BubbleLanes& lanes, int threads = 1);

/// Adds the lanes to their timeline, which has no bubbles. Takes time proportional to the number of
/// lanes and names. References to events stay valid; nobody may read anything else meanwhile.
void joinBubbles(Timeline& timeline, BubbleLanes lanes);

/// A bubble and its rank, an index in JobGraph::ranks(). It points into Bubbles.
using BubbleOfRank = std::pair<std::uint32_t, const Bubble*>;

/// How many of them reports show.
inline constexpr std::size_t kBubblesShown = 50;

/// The longest bubbles of all ranks in the steps that count, at most `most`, the longest first.
/// Those of equal length are in the order of ranks, then of begins.
std::vector<BubbleOfRank> largestBubbles(const Bubbles& bubbles, std::size_t most,
                                         const CountedSteps& counted = {});

}  // namespace pipetrace
