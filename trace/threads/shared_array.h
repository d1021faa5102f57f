#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "trace/threads/large_pages.h"

namespace pipetrace {

/// A large array that several threads fill at once, each its own elements. Elements begin
/// uninitialized: memory that nobody wrote to costs nothing, so an array may be too large.
template <typename T>
class SharedArray {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

 public:
  SharedArray() = default;
  explicit SharedArray(std::size_t size) : data_(allocate(size), {size}) {}

  /// Makes the element. It must not have been made before.
  template <typename... Args>
  T& make(std::size_t i, Args&&... args) {
    return *std::construct_at(data_.get() + i, std::forward<Args>(args)...);
  }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  const T* data() const { return data_.get(); }

 private:
  static bool isLarge(std::size_t bytes) { return bytes >= 4 * kLargePage; }
  static T* allocate(std::size_t size) {
    const std::size_t bytes = size * sizeof(T);
    if (!isLarge(bytes)) return std::allocator<T>().allocate(size);
    void* const data = ::operator new (bytes, std::align_val_t{kLargePage});
    adviseLargePages(data, bytes);
    return static_cast<T*>(data);
  }
  struct Free {
    std::size_t size = 0;
    void operator()(T* data) const {
      if (!isLarge(size * sizeof(T))) return std::allocator<T>().deallocate(data, size);
      ::operator delete (data, std::align_val_t{kLargePage});
    }
  };
  std::unique_ptr<T, Free> data_;
};

}  // namespace pipetrace
