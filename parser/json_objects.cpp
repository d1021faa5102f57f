#include "parser/json_objects.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

constexpr std::size_t kReadSize = std::size_t{1} << 18;

}  // namespace

/// Reads more behind what is there; false at the end of the input.
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

/// Of the object that begins at at_; 0 when it does not close.
std::size_t JsonObjects::lengthOfObject() {
  std::size_t depth = 0;
  bool inText = false;
  bool escaped = false;
  for (std::size_t length = 0; length < kLongest; ++length) {
    if (at_ + length == window_.size() && !fill()) return 0;
    const char c = window_[at_ + length];
    if (inText) {
      if (!escaped && c == '"') inText = false;
      // A text of JSON has no line end in it.
      if (c == '\n') return 0;
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      inText = true;
      escaped = false;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return length + 1;
    }
  }
  return 0;
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
    if (const std::size_t length = lengthOfObject(); length > 0) {
      object = std::string_view(window_).substr(at_, length);
      linesInLast_ = std::count(object.begin(), object.end(), '\n');
      at_ += length;
      return true;
    }
    ++broken_;
    const std::size_t end = window_.find('\n', at_);
    skipTo(end == std::string::npos ? window_.size() : end);
  }
}

}  // namespace pipetrace
