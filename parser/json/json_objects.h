#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parser/byte_source.h"

namespace pipetrace {

/// Cuts a text into its outermost JSON objects, whatever stands between them: an array, lines, or
/// nothing. An object that does not close is lost alone: cutting goes on at the next line.
class JsonObjects {
 public:
  /// Longer objects are broken.
  static constexpr std::size_t kLongest = std::size_t{1} << 16;

  explicit JsonObjects(ByteSource& source) : source_(source) {}

  /// The next one, braces included; holds until the next call. False at the end.
  bool next(std::string_view& object);

  std::int64_t line() const { return line_; }      ///< where the object begins, from 1
  std::int64_t broken() const { return broken_; }  ///< objects that did not close

 private:
  bool fill();
  bool scanObject(std::size_t& length);
  void skipTo(std::size_t at);

  ByteSource& source_;
  std::string window_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  std::int64_t linesInLast_ = 0;  // lines that the latest object spans
  std::int64_t broken_ = 0;
  std::uint64_t lookedAtTwice_ = 0;  // bytes of broken objects
};

}  // namespace pipetrace
