#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace pipetrace {

/// A bounded queue from one thread to one other, without locks. All memory is taken when it is
/// built. Counts of pushed and popped items only grow, so they can serve as positions in the flow.
template <typename T>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(std::atomic<std::size_t>::is_always_lock_free);

 public:
  /// Room for at least `slots` items (rounded up to a power of two, at least one).
  explicit SpscRing(std::size_t slots)
      : mask_(std::bit_ceil(slots < 1 ? std::size_t{1} : slots) - 1),
        slots_(std::make_unique<T[]>(mask_ + 1)) {}

  std::size_t capacity() const { return mask_ + 1; }

  /// Producer. False: full, and the item is not in.
  bool push(const T& item) noexcept {
    if (isFull()) return false;
    next() = item;
    publish();
    return true;
  }

  /// Producer. push() in two steps, for an item that is written in pieces. next() is the place to
  /// write it to; null: the queue is full. publish() puts it in.
  bool isFull() noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - knownHead_ <= mask_) [[likely]]
      return false;
    knownHead_ = head_.load(std::memory_order_acquire);
    return tail - knownHead_ > mask_;
  }
  T& next() noexcept { return at(tail_.load(std::memory_order_relaxed)); }
  void publish() noexcept {
    tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  /// Producer. Prefetches the place of a later item, which is in the consumer's cache.
  void prefetch() noexcept {
    constexpr std::size_t kAhead = 8;
    __builtin_prefetch(&at(tail_.load(std::memory_order_relaxed) + kAhead), 1);
  }

  /// Consumer. The oldest item, which stays in the queue until pop(); null: empty.
  const T* front() noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == knownTail_) {
      knownTail_ = tail_.load(std::memory_order_acquire);
      if (head == knownTail_) return nullptr;
    }
    return &at(head);
  }

  /// Consumer. Only after front() returned an item.
  void pop() noexcept {
    head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// Items ever pushed; exact on the producer's thread.
  std::size_t pushed() const noexcept { return tail_.load(std::memory_order_acquire); }
  /// Items ever popped; exact on the consumer's thread.
  std::size_t popped() const noexcept { return head_.load(std::memory_order_acquire); }

 private:
  static constexpr std::size_t kCacheLine = 64;

  T& at(std::size_t position) const noexcept { return slots_[position & mask_]; }

  const std::size_t mask_;
  const std::unique_ptr<T[]> slots_;
  // Each side keeps its own position, and the last one that it saw of the other side, on a cache
  // line that only it writes.
  alignas(kCacheLine) std::atomic<std::size_t> tail_ = 0;
  std::size_t knownHead_ = 0;
  alignas(kCacheLine) std::atomic<std::size_t> head_ = 0;
  std::size_t knownTail_ = 0;
};

}  // namespace pipetrace
