#include <algorithm>
#include <map>

#include "analysis/busy_intervals.h"
#include "analysis/run_summary.h"

namespace pipetrace {

void appendBubbles(Timeline& timeline, const RunSummary& summary) {
  std::erase_if(timeline.tracks, [](const Track& track) { return track.lane == kBubbleLane; });
  std::map<int, std::vector<Event>> bubbles;
  for (const RankSummary& rank : summary.ranks) {
    const std::vector<Interval> busy = busyIntervals(timeline, rank.rank);
    for (const StepSummary& step : summary.steps) {
      if (step.replica != rank.replica) continue;
      for (const Interval& gap : gapsIn(busy, {step.begin, step.windowEnd})) {
        Event bubble;
        bubble.begin = gap.begin;
        bubble.end = gap.end;
        bubble.step = step.step;
        bubble.kind = JobKind::kBubble;
        bubble.bubbleClass = BubbleClass::kUnknown;
        bubbles[rank.rank].push_back(bubble);
      }
    }
  }
  for (auto& [rank, events] : bubbles) timeline.track(rank, kBubbleLane).events = std::move(events);
  timeline.sort();
}

}  // namespace pipetrace
