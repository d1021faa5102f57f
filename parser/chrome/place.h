#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipetrace {

/// Where in a text an element of a Chrome trace begins. Its line is counted when somebody asks,
/// which is seldom; who asks in the order of the text has every byte looked at once.
class ChromePlace {
 public:
  /// `line`: of its first byte.
  ChromePlace(std::string_view text, std::int64_t line) : text_(text), line_(line) {}

  /// From now on it is this byte of the text, not before the last one.
  void moveTo(std::size_t at) { at_ = at; }

  std::int64_t line() const {
    line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                        text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    counted_ = at_;
    return line_;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  mutable std::size_t counted_ = 0;
  mutable std::int64_t line_;
};

}  // namespace pipetrace
