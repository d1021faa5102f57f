#include "trace/text/display_name.h"

#include <charconv>
#include <string>

namespace pipetrace {

std::string displayName(const Timeline& timeline, const Event& event) {
  if (event.name != 0) return std::string(timeline.strings[event.name]);
  return std::string(FallbackName(event).text());
}

std::string shortName(const Event& event) {
  if (!isCompute(event.kind)) return {};
  const bool isPair = event.kind == JobKind::kForwardBackward;
  const std::string letters(isPair ? "FB" : rowOf(event.kind).cell);
  return event.microBatch < 0 ? letters : letters + std::to_string(event.microBatch);
}

std::string actionName(const Event& event) {
  std::string name = actionName(event.stage, shortName(event));
  if (event.part != kNotGiven && !name.empty()) name += "." + std::to_string(event.part);
  return name;
}

std::string actionName(int stage, const std::string& shortForm) {
  return stage < 0 || shortForm.empty() ? shortForm : std::to_string(stage) + shortForm;
}

FallbackName::FallbackName(const Event& event) {
  const auto put = [&](std::string_view piece) {
    size_ += piece.copy(text_.data() + size_, text_.size() - size_);
  };
  put(logName(event.kind));
  if (event.kind == JobKind::kBubble) {
    put(" ");
    put(bubbleClassName(event.bubbleClass));
    return;
  }
  const bool numbered = isCompute(event.kind) || isTransfer(event.kind);
  if (!numbered || event.microBatch < 0) return;
  put(" ");
  char* const from = text_.data();
  size_ = static_cast<std::size_t>(
      std::to_chars(from + size_, from + text_.size(), event.microBatch).ptr - from);
}

bool isFallbackName(const Event& event, std::string_view name) {
  if (FallbackName(event).text() == name) return true;
  const std::string_view former = rowOf(event.bubbleClass).formerName;
  return event.kind == JobKind::kBubble && !former.empty() &&
         name == "bubble " + std::string(former);
}

}  // namespace pipetrace
