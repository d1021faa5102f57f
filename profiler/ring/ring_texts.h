#pragma once

#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "trace/log/ring_format.h"

namespace pipetrace {

/// Keeps the texts that records name by address in the ring file, as addresses mean nothing once
/// the process is gone. Not thread-safe.
class RingTexts {
 public:
  /// `places`: ring_format::kTexts of them, zeroed. They must outlive the table.
  explicit RingTexts(ring_format::Text* places) : places_(places) {}

  /// Notes that from now on this text is at `address`. Null is left out, and so is a text that no
  /// longer fits into the table.
  void note(const char* address) noexcept;

 private:
  ring_format::Text* const places_;
  std::size_t used_ = 0;
};

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

/// Texts that stay where they are as long as the pool lives, each once. Thread-safe.
class TextPool {
 public:
  /// The pool's text of this content. Takes a lock, and allocates the first time.
  const char* text(std::string_view content) {
    const std::lock_guard lock(mutex_);
    return texts_.emplace(content).first->c_str();
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> texts_;  // whose elements do not move
};

}  // namespace pipetrace
