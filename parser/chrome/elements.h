#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipetrace {

class ParsedChromeBlock;

/// How the events of a Chrome trace are read.
enum class ChromeReading : std::uint8_t {
  kFast,       ///< by hand where events are plain, on several threads
  kByLibrary,  ///< one by one, all with the library: to compare with
};

/// The place in a text where an element of a Chrome trace begins. Its line is counted on demand,
/// which is seldom. Elements only move forward, so that each byte is counted once.
class ChromePlace {
 public:
  /// `line`: the line of the text's first byte.
  ChromePlace(std::string_view text, std::int64_t line) : text_(text), line_(line) {}

  /// Moves the place to this byte of the text, which must not be before the last one.
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

/// Adds the elements of an array of Chrome events to `parsed`, from a text that begins with an
/// element or with the separators between two. Returns the number of bytes of the elements, and of
/// the separators between and after them. That is the whole text, or the part before something
/// else, or before an element that does not end in it. `line`: the line of the text's start.
std::size_t readChromeElements(std::string_view text, std::int64_t line, ParsedChromeBlock& parsed);

/// Adds one element, which begins in that line.
void readChromeElement(std::string_view text, std::int64_t line, ParsedChromeBlock& parsed);

}  // namespace pipetrace
