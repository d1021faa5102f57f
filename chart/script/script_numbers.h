#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace pipetrace {

/// Whole numbers as the text of a JSON string that may stand in a <script> element: about half as
/// long as an array. page_drawing.js reads it.
///
/// A number n is written as 2n, or as −2n − 1 if it is negative, in digits of base 45, the lowest
/// first. A digit d is the character d of kScriptDigits if it is the last of its number, else the
/// character 45 + d.
class ScriptNumbers {
 public:
  void add(std::int64_t number);
  void add(std::initializer_list<std::int64_t> numbers) {
    for (const std::int64_t number : numbers) add(number);
  }

  std::size_t size() const { return text_.size(); }
  /// With the quotes.
  std::string json() const { return '"' + text_ + '"'; }

 private:
  std::string text_;
};

/// The printable characters of ASCII without quotes, backslash, `<`, `>` and `&`.
inline constexpr char kScriptDigits[] =
    " !#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~";

}  // namespace pipetrace
