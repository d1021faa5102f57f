#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipetrace {

/// The size of a large page.
inline constexpr std::size_t kLargePage = std::size_t{1} << 21U;

/// Has large memory that nobody wrote to yet come in large pages, where the system has them: these
/// take less time to get, and to read here and there. It is a hint, which may do nothing.
inline void adviseLargePages(void* data, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  if (bytes < 4 * kLargePage) return;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

/// Gives the pages back to the system that lie inside of this memory. Their content is lost:
/// they read as 0 from then on. The memory stays the caller's.
inline void letPagesGo(void* data, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

/// Makes room for `count` elements in an empty vector. Room that is never used takes no memory.
template <typename T>
void reserveLarge(std::vector<T>& vector, std::size_t count) {
  vector.reserve(count);
  adviseLargePages(vector.data(), count * sizeof(T));
}

}  // namespace pipetrace
