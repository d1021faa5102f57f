#include "trace/text/made_up_name.h"

#include <charconv>
#include <cstring>

namespace pipetrace {

MadeUpName::MadeUpName(const Event& event) {
  const auto put = [&](std::string_view piece) {
    std::memcpy(text_.data() + size_, piece.data(), piece.size());
    size_ += piece.size();
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

}  // namespace pipetrace
