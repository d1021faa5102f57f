#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace pipetrace {

/// A text that grows at its end. Callers write the next characters in place: a std::string would
/// fill the new room with zeros first. Not thread-safe.
class InPlaceText {
 public:
  /// The place of the next character, with room for `bytes` more. Valid until the next call.
  char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return characters_.get() + size_;
  }
  /// Ends the text at `end`, the end of what the caller wrote into the room.
  void endAt(const char* end) { size_ = static_cast<std::size_t>(end - characters_.get()); }

  std::string_view text() const { return {characters_.get(), size_}; }
  void clear() { size_ = 0; }

 private:
  void grow(std::size_t bytes) {
    capacity_ = std::max(2 * capacity_, size_ + bytes);
    std::unique_ptr<char[]> larger(new char[capacity_]);
    std::copy_n(characters_.get(), size_, larger.get());
    characters_ = std::move(larger);
  }

  std::unique_ptr<char[]> characters_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace pipetrace
