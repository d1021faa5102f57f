#include "parser/chrome_batch.h"

#include <algorithm>
#include <cstring>

#include "parser/plain_chrome_event.h"

namespace pipetrace {
namespace {

// All of a batch fits the cache of a core, and few batches are needed for many events.
constexpr std::size_t kMostEvents = 512;
constexpr std::size_t kMostText = std::size_t{1} << 17;
constexpr std::size_t kTextAtOnce = std::size_t{1} << 15;

}  // namespace

ChromeBatch::ChromeBatch(ChromeReading reading)
    : reading_(reading), events_(kMostEvents), text_(kMostText) {}

bool ChromeBatch::isFull() const {
  return usedEvents_ == kMostEvents || pieces_.size() >= kMostEvents ||
         usedText_ + kTextAtOnce > kMostText || keptBytes_ > kMostText;
}

std::string_view ChromeBatch::keep(std::string_view text) {
  keptBytes_ += text.size();
  return kept_.emplace_back(text);
}

bool ChromeBatch::fill(JsonSplitter& splitter) {
  pieces_.clear();
  kept_.clear();
  keptBytes_ = 0;
  usedEvents_ = 0;
  usedText_ = 0;
  while (!isFull()) {
    if (reading_ == ChromeReading::kFast) takePlain(splitter);
    if (isFull() || !takeAny(splitter)) break;
  }
  return !pieces_.empty();
}

/// Takes the events that come next as long as they are plain.
void ChromeBatch::takePlain(JsonSplitter& splitter) {
  while (!isFull()) {
    const std::string_view ahead = splitter.ahead();
    const std::size_t size = std::min(ahead.size(), kTextAtOnce);
    if (size == 0) return;
    std::memcpy(text_.data() + usedText_, ahead.data(), size);
    const std::size_t taken = takePlainOf(splitter, size);
    usedText_ += taken;
    if (taken == 0) return;
  }
}

/// The same among the first `size` bytes ahead, of which there is a copy behind the used text. Says
/// how many bytes the events take, with what is between them.
std::size_t ChromeBatch::takePlainOf(JsonSplitter& splitter, std::size_t size) {
  const std::string_view copy(text_.data() + usedText_, size);
  const std::int64_t window = splitter.window();
  const char* const begin = splitter.ahead().data();
  std::size_t at = 0;
  std::size_t taken = 0;
  while (at < size && usedEvents_ < kMostEvents) {
    ChromeEvent& event = events_[usedEvents_];
    const std::size_t length = readPlainChromeEvent(copy.substr(at), event);
    if (length == 0) break;
    pieces_.push_back({.event = &event, .key = {}, .text = {}, .line = splitter.line()});
    ++usedEvents_;
    taken = at + length;
    splitter.take(length);
    const std::string_view next = splitter.ahead();
    if (next.empty() || splitter.window() != window) break;
    at = static_cast<std::size_t>(next.data() - begin);
  }
  return taken;
}

/// Takes the next piece, whatever it is; false at the end of the input.
bool ChromeBatch::takeAny(JsonSplitter& splitter) {
  JsonSplitter::Piece next;
  if (!splitter.next(next)) return false;
  Piece& piece = pieces_.emplace_back();
  piece.line = next.line;
  if (next.kind == JsonSplitter::Kind::kField) {
    piece.kind = Kind::kField;
    piece.key = keep(next.key);
    piece.text = keep(next.text);
    return true;
  }
  ChromeEvent& event = events_[usedEvents_++];
  piece.event = &event;
  const bool isEvent =
      next.kind == JsonSplitter::Kind::kEvent && parseChromeEvent(keep(next.text), event);
  if (!isEvent) piece.kind = Kind::kNoEvent;
  return true;
}

}  // namespace pipetrace
