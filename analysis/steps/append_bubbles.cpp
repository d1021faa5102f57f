#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/run_summary.h"
#include "analysis/steps/busy_time.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Steps = std::vector<const StepSummary*>;

/// The steps of each pipeline in the order of their begins.
std::map<int, Steps> stepsByReplica(const RunSummary& summary) {
  std::map<int, Steps> replicas;
  for (const StepSummary& step : summary.steps) replicas[step.replica].push_back(&step);
  for (auto& [replica, steps] : replicas) {
    std::stable_sort(steps.begin(), steps.end(),
                     [](const auto* a, const auto* b) { return a->begin < b->begin; });
  }
  return replicas;
}

/// An upper limit on the number of compute jobs of the rank.
std::size_t mostComputeJobs(const Timeline& timeline, int rank) {
  std::size_t most = 0;
  for (const Track& track : timeline.tracks) {
    const bool counts =
        track.rank == rank && std::any_of(track.events.begin(), track.events.end(),
                                          [](const Event& event) { return isCompute(event.kind); });
    if (counts) most += track.events.size();
  }
  return most;
}

/// The bubbles of a rank in the order of their begins, as windows do not overlap.
std::vector<Event> bubblesOf(const Timeline& timeline, int rank, const Steps& steps) {
  std::vector<Event> bubbles;
  // There is at most one before each job, and one at the end of each window. Room that is not
  // needed is never touched and takes no memory. A vector that grows would need twice its memory
  // meanwhile.
  bubbles.reserve(mostComputeJobs(timeline, rank) + steps.size());
  BusyTime busy(timeline, rank);
  for (const StepSummary* const step : steps) {
    busy.visitGaps({step->begin, step->windowEnd}, [&](const Interval& gap) {
      Event& bubble = bubbles.emplace_back();
      bubble.begin = gap.begin;
      bubble.end = gap.end;
      bubble.step = step->step;
      bubble.kind = JobKind::kBubble;
      bubble.bubbleClass = BubbleClass::kUnknown;
    });
  }
  return bubbles;
}

/// Inserts the bubbles where Timeline::sort() would put them; sorting would look at all events
/// again.
void insert(Timeline& timeline, int rank, std::vector<Event> bubbles) {
  const auto at =
      std::partition_point(timeline.tracks.begin(), timeline.tracks.end(), [&](const Track& track) {
        return track.rank != rank ? track.rank < rank : laneComesBefore(track.lane, kBubbleLane);
      });
  Track& track = *timeline.tracks.emplace(at);
  track.rank = rank;
  track.lane = kBubbleLane;
  track.events = std::move(bubbles);
}

}  // namespace

void appendBubbles(Timeline& timeline, const RunSummary& summary, int threads) {
  std::erase_if(timeline.tracks, [](const Track& track) { return track.lane == kBubbleLane; });
  const std::map<int, Steps> steps = stepsByReplica(summary);
  std::vector<std::vector<Event>> bubbles(summary.ranks.size());
  inParallel(threads, bubbles.size(), [&](std::size_t i) {
    const RankSummary& rank = summary.ranks[i];
    const auto found = steps.find(rank.replica);
    if (found != steps.end()) bubbles[i] = bubblesOf(timeline, rank.rank, found->second);
  });
  for (std::size_t i = 0; i < bubbles.size(); ++i) {
    if (!bubbles[i].empty()) insert(timeline, summary.ranks[i].rank, std::move(bubbles[i]));
  }
}

}  // namespace pipetrace
