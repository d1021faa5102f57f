#include "parser/json/json_value_scanner.h"

namespace pipetrace {

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

}  // namespace pipetrace
