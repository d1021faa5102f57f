#pragma once

#include <cstdint>
#include <string>

namespace pipetrace {

/// Finds the end of one JSON value, byte by byte.
class JsonValueScanner {
 public:
  enum class Result : std::uint8_t {
    kMore,         ///< the value goes on
    kEnded,        ///< this byte is its last
    kEndedBefore,  ///< it ended with the byte before (a number or a word)
    kBroken,       ///< brackets do not match, or a string runs over the end of its line
  };

  Result feed(char c);

 private:
  Result feedString(char c);

  std::string open_;  // the brackets still open, innermost last
  bool inString_ = false;
  bool escaped_ = false;
  bool started_ = false;
};

}  // namespace pipetrace
