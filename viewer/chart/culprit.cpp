#include "viewer/chart/culprit.h"

#include "analysis/run/graph/job_name.h"
#include "chart/text/bubble_text.h"

namespace pipetrace {
namespace {

/// The last culprit in the lane that begins before the end of the bubble. If there is none and it
/// may be later, the first one after that. Else size(). Culprits are near their bubbles, so it
/// searches away from them.
template <typename IsCulprit>
std::size_t nearest(const LaneIndex& lane, const Event& bubble, bool mayBeLater,
                    const IsCulprit& isCulprit) {
  const std::size_t after = lane.firstBeginningAt(bubble.end);
  for (std::size_t i = after; i > 0; --i) {
    if (isCulprit(lane[i - 1])) return i - 1;
  }
  std::size_t i = mayBeLater ? after : lane.size();
  while (i < lane.size() && !isCulprit(lane[i])) ++i;
  return i;
}

}  // namespace

std::optional<ChartHit> culpritOf(const ChartModel& model, const Event& bubble) {
  if (bubble.kind != JobKind::kBubble || bubble.peer == kNotGiven) return std::nullopt;
  const std::string name = BubbleText(model.timeline(), bubble).job();
  // Messages in front and those that were posted late have names such as "0SEND_F1". Their numbers
  // are those of their jobs.
  const bool isOfMessage = bubble.bubbleClass == BubbleClass::kBlocked ||
                           name.find("SEND_") != std::string::npos ||
                           name.find("RECV_") != std::string::npos;
  const bool hasNumber = bubble.job != kNotGiven && !isOfMessage;
  const auto isCulprit = [&](const Event& job) {
    if (isOfMessage) {
      return isTransfer(job.kind) && messageName(job, job.microBatch) == name;
    }
    if (!isComputeLane(job.kind)) return false;
    return hasNumber ? job.job == bubble.job : jobName(model.timeline(), job) == name;
  };
  std::optional<ChartHit> found;
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    if (model.rows()[row].rank != bubble.peer) continue;
    for (const LaneIndex& lane : model.rows()[row].lanes) {
      const std::size_t i = nearest(lane, bubble, hasNumber, isCulprit);
      if (i == lane.size() || (found && found->event->begin > lane[i].begin)) continue;
      found = ChartHit{.row = row, .event = &lane[i], .count = 1, .load = {}, .span = 0};
    }
  }
  return found;
}

}  // namespace pipetrace
