#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipetrace {

class ChromeShare;

/// How the events of a Chrome trace are read.
enum class ChromeReading : std::uint8_t {
  kFast,       ///< by hand where they are plain, on several threads
  kByLibrary,  ///< one by one, all as if none were plain: to compare with
};

/// Where in a text an element of a Chrome trace begins. Its line is counted when it is asked for,
/// which is seldom. Elements only move forward, so that each byte is counted once.
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

/// Adds the elements of an array of Chrome events to `share`, from a text that begins with one of
/// them, or with what stands between two. Returns how many bytes they are, with what is between and
/// after them: all, or up to where something else begins, or an element that does not end there.
/// `line`: that of the start of the text.
std::size_t readChromeElements(std::string_view text, std::int64_t line, ChromeShare& share);

/// Adds one element that begins in that line.
void readChromeElement(std::string_view text, std::int64_t line, ChromeShare& share);

}  // namespace pipetrace
