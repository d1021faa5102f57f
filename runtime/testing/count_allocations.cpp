#include "runtime/testing/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace pipetrace::testing {
namespace {

std::atomic<std::int64_t> allocations = 0;
thread_local std::int64_t ofThread = 0;

void* counted(std::size_t size, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  ++ofThread;
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole == 0 ? alignment : whole);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

std::int64_t allocationCount() { return allocations.load(); }
std::int64_t allocationsOfThread() { return ofThread; }

}  // namespace pipetrace::testing

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
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
