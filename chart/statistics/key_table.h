#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pipetrace {

/// A value for each of a few keys, in the order in which the keys first came. Fast where a key is
/// often the one that came last, and where there are few; not slow where there are many.
template <typename Value>
class KeyTable {
 public:
  using Entry = std::pair<std::uint64_t, Value>;

  /// The value of the key, which is made if missing. Valid until the next key is made.
  Value& operator[](std::uint64_t key) {
    if (latest_ < entries_.size() && entries_[latest_].first == key)
      return entries_[latest_].second;
    latest_ = slots_.empty() ? findInOrder(key) : findInSlots(key);
    if (latest_ == entries_.size()) add(key);
    return entries_[latest_].second;
  }

  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry> take() { return std::move(entries_); }

 private:
  static constexpr std::size_t kFew = 12;

  std::size_t findInOrder(std::uint64_t key) const {
    std::size_t i = 0;
    while (i < entries_.size() && entries_[i].first != key) ++i;
    return i;
  }
  std::size_t slotOf(std::uint64_t key) const {
    return (key * 0x9E3779B97F4A7C15U >> 20U) & (slots_.size() - 1);
  }
  std::size_t findInSlots(std::uint64_t key) const {
    for (std::size_t slot = slotOf(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot] == 0) return entries_.size();
      if (entries_[slots_[slot] - 1].first == key) return slots_[slot] - 1;
    }
  }
  void add(std::uint64_t key) {
    entries_.emplace_back(key, Value{});
    if (entries_.size() <= kFew) return;
    if (entries_.size() * 2 > slots_.size()) {
      slots_.assign(entries_.size() < 32 ? 64 : slots_.size() * 2, 0);
      for (std::size_t i = 0; i < entries_.size(); ++i) fill(i);
    } else {
      fill(entries_.size() - 1);
    }
  }
  void fill(std::size_t i) {
    std::size_t slot = slotOf(entries_[i].first);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // position of an entry + 1; a power of two of them
  std::size_t latest_ = 0;
};

}  // namespace pipetrace
