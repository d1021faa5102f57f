#pragma once

#include <atomic>
#include <cstdint>

#include "trace/log/ring_format.h"

namespace pipetrace {

/// The samples of counters on their way to the log, from any threads to one, without locks. It is
/// D. Vyukov's array queue, in which every slot counts its laps, in the slots of a ring file. A
/// slot that was taken keeps its sample until it is freed.
class CounterRing {
 public:
  using Slot = ring_format::CounterSlot;

  /// `slots`: `count` of them, a power of two, zeroed. `freed` and `dropped`: those of the file's
  /// header. All must outlive the ring.
  CounterRing(Slot* slots, std::size_t count, std::uint64_t& freed, std::uint64_t& dropped)
      : slots_(slots), mask_(count - 1), freed_(freed), dropped_(dropped) {
    for (std::size_t i = 0; i < count; ++i) slots_[i].turn = i;
  }

  /// Any thread. Copies `sample`, all but its turn. Counts it as dropped if the ring is full.
  void push(const Slot& sample) noexcept {
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[tail & mask_];
      const std::uint64_t turn = turnOf(slot).load(std::memory_order_acquire);
      if (turn == tail) {
        if (!tail_.compare_exchange_weak(tail, tail + 1, std::memory_order_relaxed)) continue;
        slot.name = sample.name;
        slot.unit = sample.unit;
        slot.monotonic = sample.monotonic;
        slot.value = sample.value;
        turnOf(slot).store(tail + 1, std::memory_order_release);
        return;
      }
      if (turn - tail > mask_) {  // the slot still holds the sample of the lap before
        std::atomic_ref(dropped_).fetch_add(1, std::memory_order_relaxed);
        return;
      }
      tail = tail_.load(std::memory_order_relaxed);
    }
  }

  /// Consumer. The next sample, which stays where it is; null: none.
  const Slot* take() noexcept {
    Slot& slot = slots_[taken_ & mask_];
    if (turnOf(slot).load(std::memory_order_acquire) != taken_ + 1) return nullptr;
    ++taken_;
    return &slot;
  }

  /// Consumer. The next `count` samples that were taken need not survive any more.
  void free(std::uint64_t count) noexcept {
    for (; count > 0; --count) {
      const std::uint64_t number = freed_;
      std::atomic_ref(freed_).store(number + 1, std::memory_order_release);
      turnOf(slots_[number & mask_]).store(number + mask_ + 1, std::memory_order_release);
    }
  }

  std::int64_t dropped() const noexcept {
    return static_cast<std::int64_t>(std::atomic_ref(dropped_).load(std::memory_order_relaxed));
  }

 private:
  static std::atomic_ref<std::uint64_t> turnOf(Slot& slot) noexcept {
    return std::atomic_ref(slot.turn);
  }

  Slot* const slots_;
  const std::size_t mask_;
  std::uint64_t& freed_;
  std::uint64_t& dropped_;
  alignas(64) std::atomic<std::uint64_t> tail_ = 0;
  alignas(64) std::uint64_t taken_ = 0;
};

}  // namespace pipetrace
