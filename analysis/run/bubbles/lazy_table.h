#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pipetrace {

/// A table of values that follow from their numbers. It is filled where it is used, a block of
/// 2^kShift values at a time, and lets blocks go that are used no more. So it takes memory for what
/// is used at one time, and not for all. Several threads may look up values at once.
template <typename Value, unsigned kShift>
class LazyTable {
 public:
  static constexpr std::size_t kBlockSize = std::size_t{1} << kShift;

  explicit LazyTable(std::size_t size)
      : count_((size + kBlockSize - 1) / kBlockSize),
        size_(size),
        entries_(std::make_unique<Entry[]>(count_)) {}
  LazyTable(const LazyTable&) = delete;
  LazyTable& operator=(const LazyTable&) = delete;
  ~LazyTable() { clear(); }

  /// The value of a number, if it is there; else null. Valid until letGo() or clear().
  const Value* find(std::size_t i) const {
    const Block* const block = entries_[i >> kShift].block.load(std::memory_order_acquire);
    return block == nullptr ? nullptr : &(*block)[i % kBlockSize];
  }
  /// The value of a number. `valueOf(number)` makes those of its block that are missing; it may
  /// look up values of other tables. Several threads that need the same block make it at once, as
  /// that takes no longer than to wait for one of them. Valid until it is let go.
  template <typename ValueOf>
  const Value& at(std::size_t i, const ValueOf& valueOf) {
    Entry& entry = entries_[i >> kShift];
    const Block* block = entry.block.load(std::memory_order_acquire);
    if (block == nullptr) block = made(i >> kShift, valueOf);
    if (entry.used.load(std::memory_order_relaxed) != round_) {
      entry.used.store(round_, std::memory_order_relaxed);
    }
    return (*block)[i % kBlockSize];
  }

  /// Lets those blocks go that nobody has looked into since the call before. Nobody may use the
  /// table meanwhile.
  void letGo() {
    for (std::size_t b = 0; b < count_; ++b) {
      Entry& entry = entries_[b];
      Block* const block = entry.block.load(std::memory_order_relaxed);
      if (block == nullptr || entry.used.load(std::memory_order_relaxed) == round_) continue;
      entry.block.store(nullptr, std::memory_order_relaxed);
      free_.emplace_back(block);
    }
    ++round_;
  }
  /// Lets all of them go, and frees their memory. Nobody may use the table meanwhile.
  void clear() {
    for (std::size_t b = 0; b < count_; ++b) delete entries_[b].block.exchange(nullptr);
    free_.clear();
  }

 private:
  using Block = std::array<Value, kBlockSize>;
  struct Entry {
    std::atomic<Block*> block{nullptr};
    std::atomic<std::uint32_t> used{0};  // in which round
  };

  template <typename ValueOf>
  const Block* made(std::size_t b, const ValueOf& valueOf) {
    std::unique_ptr<Block> block = taken();
    const std::size_t first = b * kBlockSize;
    for (std::size_t i = 0; i < kBlockSize && first + i < size_; ++i) {
      (*block)[i] = valueOf(first + i);
    }
    Block* there = nullptr;
    const bool isFirst = entries_[b].block.compare_exchange_strong(
        there, block.get(), std::memory_order_acq_rel, std::memory_order_acquire);
    if (isFirst) return block.release();
    const std::lock_guard lock(freeLock_);
    free_.push_back(std::move(block));
    return there;
  }
  std::unique_ptr<Block> taken() {
    const std::lock_guard lock(freeLock_);
    if (free_.empty()) return std::make_unique<Block>();
    std::unique_ptr<Block> block = std::move(free_.back());
    free_.pop_back();
    return block;
  }

  std::size_t count_;
  std::size_t size_;
  std::unique_ptr<Entry[]> entries_;  // by block
  std::mutex freeLock_;
  std::vector<std::unique_ptr<Block>> free_;  // let go, to be filled again
  std::uint32_t round_ = 1;
};

}  // namespace pipetrace
