#include "parser/line_reader.h"

#include <algorithm>
#include <cstring>

namespace pipetrace {
namespace {

/// It doubles as long as one line fills it, up to a line that is too long.
constexpr std::size_t kFirstBuffer = std::size_t{1} << 18;

}  // namespace

bool LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(std::max(kFirstBuffer, 2 * buffer_.size()));
  const std::size_t n = source_.read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += n;
  return n > 0;
}

bool LineReader::skipRest(Line& line) {
  line.text = {};
  line.tooLong = true;
  while (true) {
    begin_ = end_ = 0;
    if (!fill()) {
      line.terminated = false;
      return true;
    }
    if (const void* found = std::memchr(buffer_.data(), '\n', end_)) {
      begin_ = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) + 1;
      return true;
    }
  }
}

bool LineReader::next(Line& line) {
  line = {};
  std::size_t searched = 0;  // bytes after begin_ known to hold no line end
  while (true) {
    const char* const from = buffer_.data() + begin_;
    const std::size_t held = end_ - begin_;
    const void* found =
        held > searched ? std::memchr(from + searched, '\n', held - searched) : nullptr;
    if (found != nullptr) {
      line.number = ++number_;
      const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - from);
      begin_ += length + 1;
      line.tooLong = length > kLongest;
      if (!line.tooLong) line.text = {from, length};
      return true;
    }
    if (held > kLongest) {
      line.number = ++number_;
      return skipRest(line);
    }
    searched = held;
    if (!fill()) break;
  }
  if (begin_ == end_) return false;
  line.number = ++number_;
  line.terminated = false;
  line.text = {buffer_.data() + begin_, end_ - begin_};
  begin_ = end_;
  return true;
}

}  // namespace pipetrace
