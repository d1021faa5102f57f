#include "parser/line_blocks.h"

#include <algorithm>
#include <cstring>

namespace pipetrace {
namespace {

/// The bytes that a block of a file reads at first besides its own, for the end of its last line.
constexpr std::size_t kAhead = 4096;

/// The position after the first line end from `from` on, or npos.
std::size_t afterLineEnd(std::string_view bytes, std::size_t from) {
  const std::size_t at = bytes.find('\n', from);
  return at == std::string_view::npos ? at : at + 1;
}

}  // namespace

LineBlocks::LineBlocks(ByteSource& source, std::size_t usualSize)
    : source_(source), usualSize_(usualSize) {
  if (const auto size = source.plainSize()) {
    isFile_ = true;
    fileSize_ = *size;
  }
}

LineBlocks::LineBlocks(ByteSource& source, std::size_t from, std::size_t to, std::size_t usualSize)
    : source_(source), usualSize_(usualSize), begin_(from), fileSize_(to - from), isFile_(true) {}

bool LineBlocks::next(Block& block) {
  block.text = {};
  block.tooLong = false;
  return isFile_ ? nextOfFile(block) : nextOfStream(block);
}

/// Reads on at `offset` until the block holds `wanted` bytes. False at the end that the file had
/// when reading began, however it grows meanwhile.
bool LineBlocks::readUpTo(Block& block, std::size_t offset, std::size_t& held, std::size_t wanted) {
  wanted = std::min(wanted, fileSize_ - offset);
  if (wanted <= held) return false;
  if (block.own.size() < wanted) block.own.resize(wanted);
  const std::size_t n =
      source_.readAt(begin_ + offset + held, block.own.data() + held, wanted - held);
  held += n;
  return n > 0;
}

/// Block k holds the lines that begin in [k * size, (k + 1) * size), so that each can be found
/// without the others. It is read from one byte before, which shows whether a line begins at k *
/// size.
bool LineBlocks::nextOfFile(Block& block) {
  block.number = next_++;
  const std::size_t from = static_cast<std::size_t>(block.number) * usualSize_;
  if (from >= fileSize_) return false;
  block.upTo =
      static_cast<double>(std::min(from + usualSize_, fileSize_)) / static_cast<double>(fileSize_);
  const std::size_t before = from > 0 ? 1 : 0;
  const std::size_t offset = from - before;
  const std::size_t end = before + usualSize_;  // after the last byte where a line may begin
  std::size_t held = 0;
  readUpTo(block, offset, held, end + kAhead);
  const auto bytes = [&] { return std::string_view(block.own.data(), held); };

  const std::size_t first = before == 0 ? 0 : afterLineEnd(bytes().substr(0, end), 0);
  if (first >= std::min(end, held)) return true;
  std::size_t searched = end - 1;
  std::size_t last = afterLineEnd(bytes(), std::min(searched, held));
  if (last == std::string_view::npos) {
    // The last line goes on: where does it begin, and how long is it?
    const std::size_t lineEnd = bytes().substr(0, std::min(searched, held)).rfind('\n');
    const std::size_t lastLine =
        lineEnd == std::string_view::npos ? first : std::max(first, lineEnd + 1);
    while (last == std::string_view::npos && held - lastLine <= kLongestLine) {
      searched = std::max(searched, held);
      if (!readUpTo(block, offset, held, std::min(2 * held, lastLine + kLongestLine + 1))) break;
      last = afterLineEnd(bytes(), std::min(searched, held));
    }
    const std::size_t length = (last == std::string_view::npos ? held : last - 1) - lastLine;
    block.tooLong = length > kLongestLine;
    if (last == std::string_view::npos) last = held;
    if (block.tooLong) last = lastLine;
  }
  block.text = bytes().substr(first, last - first);
  return true;
}

/// Drops the line that fills the carried bytes, and keeps the text after it.
bool LineBlocks::skipLongLine() {
  carried_.resize(kLongestLine);
  while (true) {
    const std::size_t n = source_.read(carried_.data(), carried_.size());
    if (n == 0) {
      carried_.clear();
      ended_ = true;
      return false;
    }
    const std::size_t rest = afterLineEnd({carried_.data(), n}, 0);
    if (rest == std::string_view::npos) continue;
    carried_.resize(n);
    carried_.erase(carried_.begin(), carried_.begin() + static_cast<std::ptrdiff_t>(rest));
    return true;
  }
}

bool LineBlocks::nextOfStream(Block& block) {
  const std::lock_guard lock(mutex_);
  if (ended_ && carried_.empty()) return false;
  block.number = nextOfStream_++;
  block.own.resize(std::max(block.own.size(), kLongestLine + 1));
  std::size_t held = carried_.size();
  std::copy(carried_.begin(), carried_.end(), block.own.begin());
  carried_.clear();
  std::size_t searched = 0;
  std::size_t lines = 0;  // bytes of whole lines
  const auto lookForLines = [&] {
    const std::string_view fresh(block.own.data() + searched, held - searched);
    if (const std::size_t at = fresh.rfind('\n'); at != std::string_view::npos) {
      lines = searched + at + 1;
    }
    searched = held;
  };
  lookForLines();
  while (!ended_ && (held < usualSize_ || (lines == 0 && held <= kLongestLine))) {
    const std::size_t room = (held < usualSize_ ? usualSize_ : kLongestLine + 1) - held;
    const std::size_t n = source_.read(block.own.data() + held, room);
    ended_ = n == 0;
    held += n;
    lookForLines();
  }
  if (lines == 0 && held > kLongestLine) {
    block.tooLong = true;
    skipLongLine();
    return true;
  }
  if (ended_) lines = held;
  block.text = {block.own.data(), lines};
  carried_.assign(block.own.begin() + static_cast<std::ptrdiff_t>(lines),
                  block.own.begin() + static_cast<std::ptrdiff_t>(held));
  return lines > 0;
}

}  // namespace pipetrace
