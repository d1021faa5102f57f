#include "chart/text/cell_label.h"

#include <initializer_list>
#include <optional>

#include "chart/text/bubble_text.h"
#include "trace/job_kind.h"
#include "trace/log/fused_pair.h"
#include "trace/text/display_name.h"

namespace pipetrace {
namespace {

constexpr int kCellPadding = 1;  // on each side
constexpr int kActionRoom = 4;   // on both sides, beyond the padding

std::string firstThatFits(std::initializer_list<std::string> forms, int width,
                          const TextWidth& textWidth) {
  for (const std::string& form : forms) {
    if (!form.empty() && textWidth(form) + 2 * kCellPadding <= width) return form;
  }
  return {};
}

}  // namespace

std::string cellLabel(const Timeline& timeline, const Event& event, int width,
                      const TextWidth& textWidth, int actionWidth) {
  if (width < 6) return {};
  const bool isNumbered =
      event.microBatch >= 0 && (isCompute(event.kind) || isTransfer(event.kind));
  if (const std::optional<FusedPair> pair = fusedPairOf(timeline, event)) {
    const std::string forward = std::to_string(pair->forwardMicroBatch);
    const std::string backward = std::to_string(pair->backwardMicroBatch);
    std::string actions = actionName(pair->forwardStage, "F" + forward) + " " +
                          actionName(pair->backwardStage, "B" + backward);
    if (2 * actionWidth + textWidth(" ") + kActionRoom > width) actions.clear();
    return firstThatFits({actions, forward + " + " + backward, forward + "+" + backward, forward},
                         width, textWidth);
  }
  if (isNumbered) {
    const std::string number = std::to_string(event.microBatch);
    // Actions have more room, so that rows of them stay easy to read.
    const int forAction =
        actionWidth + 2 * kCellPadding > width - kActionRoom ? 0 : width - kActionRoom;
    const std::string action = firstThatFits({actionName(event)}, forAction, textWidth);
    return action.empty() ? firstThatFits({number}, width, textWidth) : action;
  }
  if (event.kind == JobKind::kBubble) {
    const BubbleText text(timeline, event);
    return firstThatFits(
        {text.withLengthAndCulprit(), text.withCulprit(), text.withLength(), text.className()},
        width, textWidth);
  }
  const JobKindRow& row = rowOf(event.kind);
  const std::string brief(row.group == JobGroup::kBeside ? row.brief : "");
  return firstThatFits({displayName(timeline, event), brief}, width, textWidth);
}

}  // namespace pipetrace
