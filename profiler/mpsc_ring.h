#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace pipetrace {

/// A bounded queue from any threads to one, without locks: D. Vyukov's array queue, in which every
/// slot counts the laps it has been through. All memory is taken when it is built.
template <typename T>
class MpscRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Room for at least `slots` items (rounded up to a power of two, at least two).
  explicit MpscRing(std::size_t slots)
      : mask_(std::bit_ceil(slots < 2 ? std::size_t{2} : slots) - 1),
        slots_(std::make_unique<Slot[]>(mask_ + 1)) {
    for (std::size_t i = 0; i <= mask_; ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
  }

  /// Any thread. False: full, and the item is not in.
  bool push(const T& item) noexcept {
    std::size_t tail = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[tail & mask_];
      const std::size_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == tail) {
        if (tail_.compare_exchange_weak(tail, tail + 1, std::memory_order_relaxed)) {
          slot.item = item;
          slot.turn.store(tail + 1, std::memory_order_release);
          return true;
        }
      } else if (turn - tail > mask_) {
        return false;  // the slot still holds the item of the lap before
      } else {
        tail = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  /// Consumer. False: empty.
  bool pop(T& item) noexcept {
    Slot& slot = slots_[head_ & mask_];
    if (slot.turn.load(std::memory_order_acquire) != head_ + 1) return false;
    item = slot.item;
    slot.turn.store(head_ + mask_ + 1, std::memory_order_release);
    ++head_;
    return true;
  }

 private:
  struct Slot {
    std::atomic<std::size_t> turn;
    T item;
  };

  const std::size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<std::size_t> tail_ = 0;
  alignas(64) std::size_t head_ = 0;
};

}  // namespace pipetrace
