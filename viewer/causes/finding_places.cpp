#include "viewer/causes/finding_places.h"

#include <algorithm>

#include "trace/display_name.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {
namespace {

QString stepText(std::int32_t step) {
  return step >= 0 ? QStringLiteral(", step %1").arg(step) : QString();
}

FindingPlace bubblePlace(const EventSpot& spot, int rank, const Bubble& bubble) {
  return {spot, QStringLiteral("bubble of %1 on rank %2%3")
                    .arg(lengthText(bubble.end - bubble.begin))
                    .arg(rank)
                    .arg(stepText(bubble.step))};
}

/// The longest event in [begin, end) of the rank, bubbles apart; of any rank for -1.
std::optional<EventSpot> longestIn(const ChartModel& model, const Pauses& pause) {
  constexpr std::size_t kMostEvents = 1000;
  std::optional<EventSpot> longest;
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    if (pause.rank >= 0 && model.rows()[row].rank != pause.rank) continue;
    for (const LaneIndex& lane : model.rows()[row].lanes) {
      const std::size_t first = lane.firstEndingAfter(pause.begin);
      const std::size_t last = std::min(lane.size(), first + kMostEvents);
      for (std::size_t i = first; i < last && lane[i].begin < pause.end; ++i) {
        const bool isInside = lane[i].begin >= pause.begin && lane[i].end <= pause.end;
        if (!isInside || (longest && longest->event->duration() >= lane[i].duration())) continue;
        longest = EventSpot{row, &lane[i]};
      }
    }
  }
  return longest;
}

/// The first job after a pause.
std::optional<EventSpot> firstAfter(const ChartModel& model, Nanoseconds time) {
  std::optional<EventSpot> first;
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    if (!model.rows()[row].isCompute) continue;
    for (const LaneIndex& lane : model.rows()[row].lanes) {
      const std::size_t at = lane.firstBeginningAt(time);
      if (at >= lane.size() || (first && first->event->begin <= lane[at].begin)) continue;
      first = EventSpot{row, &lane[at]};
    }
  }
  return first;
}

FindingPlace pausePlace(const EventSpot& spot, const ChartModel& model, const char* words) {
  return {spot, QStringLiteral("%1 on rank %2, %3")
                    .arg(QString::fromStdString(displayName(model.timeline(), *spot.event)))
                    .arg(model.rows()[spot.row].rank)
                    .arg(QString::fromLatin1(words))};
}

}  // namespace

std::vector<FindingPlace> placesOfFinding(const Finding& finding, const GraphPlaces& places) {
  std::vector<FindingPlace> found;
  for (const auto& [rank, bubble] : finding.examples) {
    const auto spot = places.spotOf(rank, bubble);
    if (spot) found.push_back(bubblePlace(*spot, places.graph().ranks()[rank].number, bubble));
  }
  if (const JobGraph::Id job = finding.culprit.job; job != JobGraph::kNone) {
    const QString words =
        QStringLiteral("culprit %1%2")
            .arg(QString::fromStdString(places.nameOf(job)), stepText(finding.culprit.step));
    if (const auto spot = places.spotOf(job)) found.push_back({*spot, words});
  }
  if (finding.pauses) {
    const ChartModel& model = places.model();
    if (const auto spot = longestIn(model, *finding.pauses)) {
      found.push_back(pausePlace(*spot, model, "in the pause"));
    }
    if (const auto spot = firstAfter(model, finding.pauses->end)) {
      found.push_back(pausePlace(*spot, model, "after the pause"));
    }
  }
  return found;
}

}  // namespace pipetrace
