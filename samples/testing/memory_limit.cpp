#include "samples/testing/memory_limit.h"

#include <sys/resource.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstdint>
#endif

namespace pipetrace {
namespace {

constexpr std::size_t kLimit = 1 << 20;  // bytes; the process has more

#if defined(__SANITIZE_ADDRESS__)
/// LibTorch's usual allocator, for tensors up to a size.
class LimitedAllocator final : public c10::Allocator {
 public:
  LimitedAllocator() {
    constexpr std::uint8_t kAboveUsual = 1;
    c10::SetCPUAllocator(this, kAboveUsual);
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    TORCH_CHECK(bytes <= most_, "can't allocate memory: you tried to allocate ", bytes, " bytes");
    return usual_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return usual_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  void limit(std::size_t most) { most_ = most; }

 private:
  // AddressSanitizer would end a program that asks for more.
  std::atomic<std::size_t> most_ = std::size_t{1} << 40;
  c10::Allocator* const usual_ = c10::GetDefaultCPUAllocator();
};

// It is set before any thread runs, as LibTorch wants it, and is there until the last has ended.
LimitedAllocator& limitedAllocator = *new LimitedAllocator;
#endif

}  // namespace

void limitMemory() {
#if defined(__SANITIZE_ADDRESS__)
  limitedAllocator.limit(kLimit);
#else
  const rlimit limit{.rlim_cur = kLimit, .rlim_max = kLimit};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace pipetrace
