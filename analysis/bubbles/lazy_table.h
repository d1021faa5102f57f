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
        blocks_(std::make_unique<std::atomic<Block*>[]>(count_)) {}
  LazyTable(const LazyTable&) = delete;
  LazyTable& operator=(const LazyTable&) = delete;
  ~LazyTable() { clear(); }

  /// The value of a number, if it is there; else null. Valid until letGo() or clear().
  const Value* find(std::size_t i) const {
    const Block* const block = blocks_[i >> kShift].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : &block->values[i % kBlockSize];
  }
  /// The value of a number. `valueOf(number)` makes those of its block that are missing; it may
  /// look up values of other tables. Valid likewise.
  template <typename ValueOf>
  const Value& at(std::size_t i, const ValueOf& valueOf) {
    Block* block = blocks_[i >> kShift].load(std::memory_order_acquire);
    if (block == nullptr) block = made(i >> kShift, valueOf);
    if (block->used.load(std::memory_order_relaxed) != round_) {
      block->used.store(round_, std::memory_order_relaxed);
    }
    return block->values[i % kBlockSize];
  }

  /// Lets those blocks go that nobody has looked into since the call before. Nobody may use the
  /// table meanwhile.
  void letGo() {
    for (std::size_t b = 0; b < count_; ++b) {
      Block* const block = blocks_[b].load(std::memory_order_relaxed);
      if (block == nullptr || block->used.load(std::memory_order_relaxed) == round_) continue;
      blocks_[b].store(nullptr, std::memory_order_relaxed);
      free_.emplace_back(block);
    }
    ++round_;
  }
  /// Lets all of them go, and frees their memory. Nobody may use the table meanwhile.
  void clear() {
    for (std::size_t b = 0; b < count_; ++b) delete blocks_[b].exchange(nullptr);
    free_.clear();
  }

 private:
  struct Block {
    std::atomic<std::uint32_t> used{0};  // in which round
    std::array<Value, kBlockSize> values;
  };
  static constexpr std::size_t kLocks = 64;

  template <typename ValueOf>
  Block* made(std::size_t b, const ValueOf& valueOf) {
    const std::lock_guard lock(locks_[b % kLocks]);
    Block* const there = blocks_[b].load(std::memory_order_acquire);
    if (there != nullptr) return there;
    std::unique_ptr<Block> block = taken();
    const std::size_t first = b * kBlockSize;
    for (std::size_t i = 0; i < kBlockSize && first + i < size_; ++i) {
      block->values[i] = valueOf(first + i);
    }
    blocks_[b].store(block.get(), std::memory_order_release);
    return block.release();
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
  std::unique_ptr<std::atomic<Block*>[]> blocks_;
  std::array<std::mutex, kLocks> locks_;  // of the blocks with numbers that are alike modulo it
  std::mutex freeLock_;
  std::vector<std::unique_ptr<Block>> free_;  // let go, to be filled again
  std::uint32_t round_ = 1;
};

}  // namespace pipetrace
