#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace pipetrace {

/// A large array that several threads fill at once, each its own elements. Elements begin
/// uninitialized: memory that nobody wrote to costs nothing, so an array may be too large.
template <typename T>
class SharedArray {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

 public:
  SharedArray() = default;
  explicit SharedArray(std::size_t size) : data_(std::allocator<T>().allocate(size), {size}) {}

  /// Makes the element. It must not have been made before.
  template <typename... Args>
  T& make(std::size_t i, Args&&... args) {
    return *std::construct_at(data_.get() + i, std::forward<Args>(args)...);
  }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  const T* data() const { return data_.get(); }

 private:
  struct Free {
    std::size_t size = 0;
    void operator()(T* data) const { std::allocator<T>().deallocate(data, size); }
  };
  std::unique_ptr<T, Free> data_;
};

}  // namespace pipetrace
