#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parser/byte_source.h"

namespace pipetrace {

/// Cuts an input into lines at '\n'.
class LineReader {
 public:
  /// Longer lines are no lines of a log: they are handed on empty and `tooLong`.
  static constexpr std::size_t kLongest = std::size_t{1} << 20;

  struct Line {
    std::string_view text;    ///< without its end; holds until the next call of next()
    std::int64_t number = 0;  ///< from 1
    bool terminated = true;   ///< false: the input ended before the line did
    bool tooLong = false;
  };

  /// `source` must outlive the reader.
  explicit LineReader(ByteSource& source) : source_(source) {}

  /// The next line; false at the end. A last line without an end is handed on when it holds
  /// anything.
  bool next(Line& line);

  /// How many lines there have been.
  std::int64_t count() const { return number_; }

 private:
  bool fill();
  bool skipRest(Line& line);

  ByteSource& source_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what has not been handed on
  std::size_t end_ = 0;    // of what has been read
  std::int64_t number_ = 0;
};

}  // namespace pipetrace
