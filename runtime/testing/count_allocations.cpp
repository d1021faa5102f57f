#include "runtime/testing/count_allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/allocator_interface.h>
#endif

namespace pipetrace::testing {
namespace {

std::atomic<std::int64_t> allocations = 0;
thread_local std::int64_t ofThread = 0;

void count() {
  allocations.fetch_add(1, std::memory_order_relaxed);
  ++ofThread;
}

#if defined(__SANITIZE_THREAD__)
// clang's ThreadSanitizer has these operators itself and lets no program replace them. It reports
// each allocation instead, those of malloc, too.
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { count(); }, [](const volatile void*) {});
#else
void* countedOrNull(std::size_t size, std::size_t alignment) {
  count();
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, whole == 0 ? alignment : whole);
}

void* counted(std::size_t size, std::size_t alignment) {
  void* const memory = countedOrNull(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
#endif

}  // namespace

std::int64_t allocationCount() { return allocations.load(); }
std::int64_t allocationsOfThread() { return ofThread; }

}  // namespace pipetrace::testing

#if !defined(__SANITIZE_THREAD__)
// GCC takes a delete whose body it sees and a new whose body it does not for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t size) {
  return pipetrace::testing::counted(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return pipetrace::testing::counted(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return pipetrace::testing::counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return pipetrace::testing::counted(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return pipetrace::testing::countedOrNull(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return pipetrace::testing::countedOrNull(size, alignof(std::max_align_t));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
