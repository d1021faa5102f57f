#include "parser/json/json_objects.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

constexpr std::size_t kReadSize = std::size_t{1} << 18;

/// In a text where every line begins an object that does not close, each would be looked at to its
/// end. After this number of bytes, text that was looked at is skipped.
constexpr std::uint64_t kMostLookedAtTwice = std::uint64_t{1} << 26;

}  // namespace

/// Reads more of the input; false at its end.
bool JsonObjects::fill() {
  window_.erase(0, at_);
  at_ = 0;
  const std::size_t before = window_.size();
  window_.resize(before + kReadSize);
  const std::size_t got = source_.read(window_.data() + before, kReadSize);
  window_.resize(before + got);
  return got > 0;
}

void JsonObjects::skipTo(std::size_t to) {
  line_ += std::count(window_.begin() + static_cast<std::ptrdiff_t>(at_),
                      window_.begin() + static_cast<std::ptrdiff_t>(to), '\n');
  at_ = to;
}

/// Whether the object that begins at at_ closes. `length`: its length, or how far the search went.
bool JsonObjects::scanObject(std::size_t& length) {
  std::size_t depth = 0;
  bool inText = false;
  bool escaped = false;
  for (length = 0; length < kLongest; ++length) {
    if (at_ + length == window_.size() && !fill()) return false;
    const char c = window_[at_ + length];
    if (inText) {
      if (c == '\n') return false;  // a text of JSON has no line end in it
      if (!escaped && c == '"') inText = false;
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      inText = true;
      escaped = false;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      ++length;
      return true;
    }
  }
  return false;
}

bool JsonObjects::next(std::string_view& object) {
  line_ += std::exchange(linesInLast_, 0);
  for (;;) {
    std::size_t begin = window_.find('{', at_);
    while (begin == std::string::npos) {
      skipTo(window_.size());
      if (!fill()) return false;
      begin = window_.find('{', at_);
    }
    skipTo(begin);
    std::size_t length = 0;
    if (scanObject(length)) {
      object = std::string_view(window_).substr(at_, length);
      linesInLast_ = std::count(object.begin(), object.end(), '\n');
      at_ += length;
      return true;
    }
    ++broken_;
    lookedAtTwice_ += length;
    const std::size_t end =
        lookedAtTwice_ > kMostLookedAtTwice ? at_ + length : window_.find('\n', at_);
    skipTo(std::min(end, window_.size()));
  }
}

}  // namespace pipetrace
