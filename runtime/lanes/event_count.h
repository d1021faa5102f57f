#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace pipetrace {

/// Where one thread sleeps until another has something for it. It says by an address for what, so
/// that nobody wakes it for something else.
///
/// Threads: one waits; any ring and stop.
class EventCount {
 public:
  /// Waits until ready() is true. Returns false if stop() was called and it is not. `what` is the
  /// address that ring() will name; whoever makes ready() true rings afterwards. ready() reads
  /// atomics with sequential consistency.
  template <typename Ready>
  bool wait(const void* what, Ready ready) noexcept {
    // On a machine with fewer cores than ranks the thread that is waited for may need this core.
    for (int i = 0; i < kYields; ++i) {
      if (ready()) return true;
      std::this_thread::yield();
    }
    awaited_.store(what);
    while (true) {
      const std::uint32_t rung = rings_.load();
      if (ready()) break;
      if (stopped_.load()) {
        awaited_.store(nullptr);
        return ready();
      }
      rings_.wait(rung);
    }
    awaited_.store(nullptr);
    return true;
  }

  /// Wakes the thread if it waits for `what`. The change that makes its ready() true must have been
  /// stored with sequential consistency before.
  void ring(const void* what) noexcept {
    if (awaited_.load() == what) wake();
  }

  /// Ends the wait, and all that would follow.
  void stop() noexcept {
    stopped_.store(true);
    rings_.fetch_add(1);
    rings_.notify_all();
  }
  bool isStopped() const noexcept { return stopped_.load(); }

  /// How often a sleeping thread was woken.
  std::int64_t wakeUps() const noexcept { return wakeUps_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kYields = 3;

  void wake() noexcept {
    wakeUps_.fetch_add(1, std::memory_order_relaxed);
    rings_.fetch_add(1);
    rings_.notify_all();
  }

  std::atomic<const void*> awaited_ = nullptr;
  std::atomic<std::uint32_t> rings_ = 0;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::int64_t> wakeUps_ = 0;
};

}  // namespace pipetrace
