#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pipetrace {

/// What a Chrome trace event says of an arrow that it is an end of, or has an end of.
struct ChromeArrowFields {
  std::optional<std::uint64_t> id;
  std::optional<std::uint64_t> bindId;
  bool flowIn = false;
  bool flowOut = false;
  bool bindsEnclosing = false;  ///< `"bp": "e"`
  bool isOfThread = true;       ///< of an instant: no wider scope is said in `s`

  /// Each takes a field of the event, whatever its key is. Numbers are as they are; texts are
  /// hexadecimal, and what is none is no id.
  void takeNumber(std::string_view key, std::string_view digits);
  void takeText(std::string_view key, std::string_view text);
  void takeWord(std::string_view key, std::string_view word);
};

}  // namespace pipetrace
