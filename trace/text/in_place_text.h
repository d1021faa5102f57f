#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace pipetrace {

/// A text that grows at its end, and whose next characters are written in place: a std::string
/// would fill its new room with zeros first. Not thread-safe.
class InPlaceText {
 public:
  /// Where the text goes on, with room for `bytes` more. Holds until the next call.
  char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return characters_.get() + size_;
  }
  /// `end`: of what has been written into the room.
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
