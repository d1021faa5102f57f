#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace pipetrace {

/// The longest text in a line of the job log, as readers leave out lines past 1 MiB.
inline constexpr std::size_t kMostTextBytes = 1024;

/// The start of `text`, at most kMostTextBytes, and no part of a UTF-8 character.
inline std::string_view shortText(std::string_view text) {
  if (text.size() <= kMostTextBytes) return text;
  std::size_t size = kMostTextBytes;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}
/// Looks no further than it has to.
inline std::string_view shortText(const char* text) {
  return shortText(std::string_view(text, strnlen(text, kMostTextBytes + 1)));
}

}  // namespace pipetrace
