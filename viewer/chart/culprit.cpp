#include "viewer/chart/culprit.h"

#include "analysis/graph/job_name.h"
#include "chart/text/bubble_text.h"

namespace pipetrace {

std::optional<ChartHit> culpritOf(const ChartModel& model, const Event& bubble) {
  if (bubble.kind != JobKind::kBubble || bubble.peer == kNotGiven) return std::nullopt;
  const std::string name = BubbleText(model.timeline(), bubble).job();
  const auto isCulprit = [&](const Event& job) {
    if (!isComputeLane(job.kind)) return false;
    if (bubble.job != kNotGiven) return job.job == bubble.job;
    return job.begin < bubble.end && jobName(model.timeline(), job) == name;
  };
  std::optional<ChartHit> found;
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    if (model.rows()[row].rank != bubble.peer) continue;
    for (const LaneIndex& lane : model.rows()[row].lanes) {
      for (std::size_t i = 0; i < lane.size(); ++i) {
        if (!isCulprit(lane[i])) continue;
        if (found && found->event->begin > lane[i].begin) continue;
        found = ChartHit{.row = row, .event = &lane[i], .count = 1, .load = {}, .span = 0};
      }
    }
  }
  return found;
}

}  // namespace pipetrace
