#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "parser/json/json_string.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Text that is put together piece by piece, quicker than in a std::string.
class TextBuffer {
 public:
  std::string_view text() const { return {bytes_.data(), size_}; }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }

  void add(char c) { *room(1) = c, ++size_; }

  void add(std::string_view piece) {
    if (!piece.empty()) std::memcpy(room(piece.size()), piece.data(), piece.size());
    size_ += piece.size();
  }

  template <std::size_t size>
  void add(const char (&piece)[size]) {
    std::memcpy(room(size - 1), piece, size - 1);
    size_ += size - 1;
  }

  void addNumber(std::int64_t value) {
    constexpr std::size_t kMost = 20;
    char* const from = room(kMost);
    size_ += static_cast<std::size_t>(std::to_chars(from, from + kMost, value).ptr - from);
  }

  /// Microseconds with exactly three decimals.
  void addMicroseconds(Nanoseconds time) {
    auto magnitude = static_cast<std::uint64_t>(time);
    if (time < 0) {
      add('-');
      magnitude = 0 - magnitude;
    }
    addNumber(static_cast<std::int64_t>(magnitude / kNsPerUs));
    const auto rest = static_cast<int>(magnitude % kNsPerUs);
    char* const to = room(4);
    to[0] = '.';
    to[1] = static_cast<char>('0' + rest / 100);
    to[2] = static_cast<char>('0' + rest / 10 % 10);
    to[3] = static_cast<char>('0' + rest % 10);
    size_ += 4;
  }

  /// `text` in quotes, as it is, and then `after`.
  void addQuoted(std::string_view text, std::string_view after = {}) {
    char* const to = room(text.size() + 2 + after.size());
    to[0] = '"';
    std::memcpy(to + 1, text.data(), text.size());
    to[text.size() + 1] = '"';
    if (!after.empty()) std::memcpy(to + text.size() + 2, after.data(), after.size());
    size_ += text.size() + 2 + after.size();
  }

  /// A JSON string with its quotes, as appendJsonString() makes it.
  void addJson(std::string_view text);

 private:
  /// Where the next `n` bytes go.
  char* room(std::size_t n) {
    if (bytes_.size() - size_ < n) bytes_.resize(2 * bytes_.size() + n + 4096);
    return bytes_.data() + size_;
  }

  std::vector<char> bytes_;
  std::size_t size_ = 0;
};

inline void TextBuffer::addJson(std::string_view text) {
  bool isPlain = true;  // without branches, as most strings are short and plain
  for (const char c : text) isPlain &= isPlainInJson(c);
  if (isPlain) {
    addQuoted(text);
  } else {
    std::string json;
    appendJsonString(json, text);
    add(json);
  }
}

}  // namespace pipetrace
