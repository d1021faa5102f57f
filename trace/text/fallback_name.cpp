#include "trace/text/fallback_name.h"

#include <charconv>
#include <string>

namespace pipetrace {

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
