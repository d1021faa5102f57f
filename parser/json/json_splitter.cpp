#include "parser/json/json_splitter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "parser/json/json_string.h"

namespace pipetrace {
namespace {

using Result = JsonValueScanner::Result;

constexpr std::size_t kFirstWindow = std::size_t{1} << 17;
/// Without a limit, a file in which every line opens a bracket would be searched once per line.
constexpr std::uint64_t kMostTextLookedAtTwice = std::uint64_t{1} << 30;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kJsonBlanks = " \t\r\n";

/// Counts in bytes first, of which compilers count sixteen at a time.
std::int64_t countLineEnds(std::string_view text) {
  constexpr std::size_t kAtOnce = 240;  // no more than a byte holds
  std::int64_t count = 0;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kAtOnce);
    std::uint8_t found = 0;
    for (const char c : piece) found = static_cast<std::uint8_t>(found + (c == '\n' ? 1 : 0));
    count += found;
    text.remove_prefix(piece.size());
  }
  return count;
}

/// The place where the last element of a list seems to begin: after a comma, with the same key as
/// the first one. The text must begin with an element. 0: there is none in this text.
std::size_t lastBeginOfElement(std::string_view text) {
  constexpr std::size_t kLongestKey = 64;
  const std::size_t open = text.find_first_not_of(kJsonBlanks, 1);
  if (!text.starts_with('{') || open > kLongestKey || text[open] != '"') return 0;
  const std::size_t close = text.substr(0, open + kLongestKey).find('"', open + 1);
  if (close == std::string_view::npos) return 0;
  const std::string_view sign = text.substr(0, close + 1);
  for (std::size_t at = text.rfind(sign); at != 0; at = text.rfind(sign, at - 1)) {
    const std::size_t before = text.find_last_not_of(kJsonBlanks, at - 1);
    if (before != std::string_view::npos && text[before] == ',') return at;
  }
  return 0;
}

}  // namespace

JsonValueScanner::Result JsonValueScanner::feedString(char c) {
  if (escaped_) {
    escaped_ = false;
  } else if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    inString_ = false;
    if (open_.empty()) return Result::kEnded;
  }
  // JSON escapes line ends, so this is a quote that was never closed.
  return c == '\n' ? Result::kBroken : Result::kMore;
}

JsonValueScanner::Result JsonValueScanner::feed(char c) {
  if (inString_) return feedString(c);
  const bool first = !started_;
  started_ = true;
  switch (c) {
    case '"':
      if (!first && open_.empty()) return Result::kEndedBefore;
      inString_ = true;
      return Result::kMore;
    case '{':
    case '[':
      if (!first && open_.empty()) return Result::kEndedBefore;
      open_.push_back(c);
      return Result::kMore;
    case '}':
    case ']':
      if (open_.empty()) return first ? Result::kBroken : Result::kEndedBefore;
      if (open_.back() != (c == '}' ? '{' : '[')) return Result::kBroken;
      open_.pop_back();
      return open_.empty() ? Result::kEnded : Result::kMore;
    case ',':
    case ':':
    case ' ':
    case '\t':
    case '\r':
    case '\n':
      if (!open_.empty()) return Result::kMore;
      return first ? Result::kBroken : Result::kEndedBefore;
    default: return Result::kMore;
  }
}

/// Reads more, and keeps the text that has not been handed out; false at the end of the input.
bool JsonSplitter::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kFirstWindow) buffer_.resize(buffer_.size() * 2 + 2 * kFirstWindow);
  const std::size_t n = source_.read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += n;
  read_ += n;
  return n > 0;
}

bool JsonSplitter::peekChar(char& c) {
  if (begin_ == end_ && !fill()) return false;
  c = buffer_[begin_];
  return true;
}

void JsonSplitter::consume(std::size_t n) {
  const char* from = buffer_.data() + begin_;
  const char* const end = from + n;
  begin_ += n;
  constexpr std::size_t kPiece = 1024;
  if (n > kPiece) {
    line_ += countLineEnds({from, n});
    return;
  }
  // Most pieces hold none.
  while (const void* found = std::memchr(from, '\n', static_cast<std::size_t>(end - from))) {
    ++line_;
    from = static_cast<const char*>(found) + 1;
  }
}

void JsonSplitter::skipBlanks(bool commas) {
  char c = 0;
  while (peekChar(c)) {
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n' || (commas && c == ',');
    if (!blank) return;
    consume(1);
  }
}

bool JsonSplitter::stopHere(bool wasCutOff) {
  cutOff_ = wasCutOff;
  state_ = State::kDone;
  return false;
}

/// Looks for the end of the value at begin_. With `keep`, all of it stays in the buffer, `length`
/// bytes; without, it is consumed. kMore: the input ended first, or the limit of repeated looks was
/// reached.
JsonValueScanner::Result JsonSplitter::scan(std::size_t& length, bool keep) {
  JsonValueScanner scanner;
  length = 0;
  while (true) {
    if (begin_ + length == end_) {
      if (!keep) consume(std::exchange(length, 0));
      if (!fill()) return Result::kMore;
    }
    if (keep && length > kLargestPiece) return Result::kMore;
    const Result result = scanner.feed(buffer_[begin_ + length]);
    if (result != Result::kEndedBefore) ++length;
    if (result == Result::kMore) continue;
    if (!keep) consume(length);
    return result;
  }
}

/// Goes on after an element that did not close. Its other lines are no elements of their own.
void JsonSplitter::skipBrokenElement(std::size_t scanned) {
  lookedAtTwice_ += scanned;
  const char* const from = buffer_.data() + begin_;
  const void* found = std::memchr(from, '\n', scanned);
  if (found == nullptr) return consume(std::max<std::size_t>(scanned, 1));
  consume(static_cast<std::size_t>(static_cast<const char*>(found) - from) + 1);
  while (!skipToElement()) continue;
}

/// Whether the line at begin_ begins with a bracket of an element or of the array's end, or the
/// input has ended; else consumes the line.
bool JsonSplitter::skipToElement() {
  skipBlanks(true);
  char c = 0;
  if (!peekChar(c) || c == '{' || c == ']') return true;
  while (peekChar(c) && c != '\n') {
    const void* const end = std::memchr(buffer_.data() + begin_, '\n', end_ - begin_);
    consume(end == nullptr ? end_ - begin_
                           : static_cast<std::size_t>(static_cast<const char*>(end) -
                                                      (buffer_.data() + begin_)));
  }
  return false;
}

bool JsonSplitter::nextElement(Piece& piece) {
  skipBlanks(true);
  char c = 0;
  if (!peekChar(c)) return stopHere(inObject_);
  if (c == ']') {
    consume(1);
    state_ = inObject_ ? State::kObject : State::kDone;
    return next(piece);
  }
  piece = {};
  piece.line = line_;
  std::size_t length = 0;
  const Result result = scan(length, true);
  if (result == Result::kEnded || result == Result::kEndedBefore) {
    piece.text = {buffer_.data() + begin_, length};
    handedOn_ = length;
    return true;
  }
  const bool atEnd = result == Result::kMore && length <= kLargestPiece;
  piece.kind = Kind::kBroken;
  skipBrokenElement(length);
  const bool isCut = atEnd && begin_ == end_;
  if (lookedAtTwice_ > kMostTextLookedAtTwice || isCut) {
    stopHere(true);
    cutInElement_ = isCut;
    return !atEnd;  // an element that the end of the input cut shows in cutOff()
  }
  return true;
}

/// Takes the key of a field and its colon; false for anything else.
bool JsonSplitter::takeKey() {
  char c = 0;
  if (!peekChar(c) || c != '"') return false;
  std::size_t length = 0;
  if (scan(length, true) != Result::kEnded) return false;
  key_.clear();
  if (!appendFromJsonString(key_, {buffer_.data() + begin_ + 1, length - 2})) return false;
  consume(length);
  skipBlanks(false);
  if (!peekChar(c) || c != ':') return false;
  consume(1);
  skipBlanks(false);
  return true;
}

bool JsonSplitter::nextField(Piece& piece) {
  while (true) {
    skipBlanks(true);
    char c = 0;
    if (!peekChar(c)) return stopHere(true);
    if (c == '}') return stopHere(false);
    if (!takeKey() || !peekChar(c)) return stopHere(true);
    if (key_ == fields_.array && c == '[') {
      consume(1);
      inObject_ = true;
      state_ = State::kArray;
      return nextElement(piece);
    }
    if (key_ == fields_.array && c == '{' && !isNested_) {
      consume(1);
      isNested_ = true;
      continue;
    }
    const bool wanted = fields_.isWanted(key_);
    piece = {.kind = Kind::kField, .key = key_, .text = {}, .line = line_};
    std::size_t length = 0;
    const Result result = scan(length, wanted);
    if (result != Result::kEnded && result != Result::kEndedBefore) return stopHere(true);
    if (!wanted) continue;
    piece.text = {buffer_.data() + begin_, length};
    handedOn_ = length;
    return true;
  }
}

bool JsonSplitter::takeBlock(std::string& text, std::int64_t& line, std::size_t size) {
  consume(std::exchange(handedOn_, 0));
  if (state_ != State::kArray) return false;
  skipBlanks(true);
  while (end_ - begin_ < size && fill()) continue;
  const std::string_view ahead(buffer_.data() + begin_, std::min(size, end_ - begin_));
  const std::size_t cut = lastBeginOfElement(ahead);
  if (cut == 0) return false;
  text.assign(ahead.substr(0, cut));
  line = line_;
  consume(cut);
  return true;
}

void JsonSplitter::putBack(std::string_view text, std::int64_t line) {
  std::string whole(text);
  whole.append(buffer_, begin_, end_ - begin_);
  buffer_.swap(whole);
  begin_ = 0;
  end_ = buffer_.size();
  line_ = line;
}

bool JsonSplitter::next(Piece& piece) {
  consume(std::exchange(handedOn_, 0));
  if (state_ == State::kStart) {
    for (const char mark : kByteOrderMark) {
      char c = 0;
      if (peekChar(c) && c == mark) consume(1);
    }
    skipBlanks(false);
    char c = 0;
    if (!peekChar(c) || (c != '{' && c != '[')) return stopHere(true);
    if (fields_.isBareList) {
      state_ = State::kArray;
    } else {
      consume(1);
      state_ = c == '{' ? State::kObject : State::kArray;
    }
  }
  switch (state_) {
    case State::kObject: return nextField(piece);
    case State::kArray: return nextElement(piece);
    case State::kStart:
    case State::kDone: break;
  }
  return false;
}

}  // namespace pipetrace
