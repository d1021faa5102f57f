#include "chart/text/cell_label.h"

#include <initializer_list>
#include <optional>

#include "chart/text/bubble_text.h"
#include "trace/display_name.h"
#include "trace/log/fused_pair.h"

namespace pipetrace {
namespace {

constexpr int kPadding = 1;  // on each side

std::string firstThatFits(std::initializer_list<std::string> forms, int width,
                          const TextWidth& textWidth) {
  for (const std::string& form : forms) {
    if (!form.empty() && textWidth(form) + 2 * kPadding <= width) return form;
  }
  return {};
}

}  // namespace

std::string cellLabel(const Timeline& timeline, const Event& event, LabelForm form, int width,
                      const TextWidth& textWidth) {
  if (width < 6) return {};
  const bool isNumbered =
      event.microBatch >= 0 && (isCompute(event.kind) || isTransfer(event.kind));
  if (const std::optional<FusedPair> pair = fusedPairOf(timeline, event)) {
    const std::string forward = std::to_string(pair->forwardMicroBatch);
    const std::string backward = std::to_string(pair->backwardMicroBatch);
    std::string letters;
    if (form == LabelForm::kLetterAndNumber) letters = "F" + forward + " B" + backward;
    return firstThatFits({letters, forward + " + " + backward, forward + "+" + backward, forward},
                         width, textWidth);
  }
  if (isNumbered) {
    const std::string number = std::to_string(event.microBatch);
    if (form == LabelForm::kNumber) return firstThatFits({number}, width, textWidth);
    return firstThatFits({shortName(event), number}, width, textWidth);
  }
  if (event.kind == JobKind::kBubble) {
    const BubbleText text(timeline, event);
    return firstThatFits({text.withCulprit(), text.withJob(), text.className()}, width, textWidth);
  }
  const char* brief = event.kind == JobKind::kOptimizer ? "opt" : "";
  return firstThatFits({displayName(timeline, event), brief}, width, textWidth);
}

}  // namespace pipetrace
