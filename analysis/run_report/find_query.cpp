#include "analysis/run_report/find_query.h"

#include <functional>
#include <string_view>
#include <vector>

#include "analysis/explain/evidence.h"
#include "chart/search/exact_query.h"

namespace pipetrace {

namespace {

/// Returns the event that joinBubbles() makes of the bubble, but for its culprit.
Event eventOf(const Bubble& bubble) {
  Event event;
  event.begin = bubble.begin;
  event.end = bubble.end;
  event.step = bubble.step;
  event.kind = JobKind::kBubble;
  event.bubbleClass = bubble.bubbleClass;
  return event;
}

/// The lane that the event of the timeline is in.
std::string_view laneOf(const Timeline& timeline, const Event* event) {
  for (const Track& track : timeline.tracks) {
    const Event* const first = track.events.data();
    const bool isHere =
        !std::less<>()(event, first) && std::less<>()(event, first + track.events.size());
    if (isHere) return track.lane;
  }
  return {};
}

}  // namespace

std::string findQueryOf(const RunReport& report, const Finding& finding) {
  const std::vector<Evidence> found = evidenceOf(report.explanation, finding);
  if (found.empty()) return {};
  const Evidence& best = found.front();
  if (best.event == nullptr) {
    return exactQuery(report.timeline, best.rank, kBubbleLane, eventOf(best.bubble));
  }
  return exactQuery(report.timeline, best.rank, laneOf(report.timeline, best.event), *best.event);
}

}  // namespace pipetrace
