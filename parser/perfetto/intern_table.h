#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipetrace {

/// Numbers from 1 for distinct keys (never 0), in the order in which they first come. The table is
/// flat, because every name of a big trace is looked up.
class InternTable {
 public:
  struct Found {
    std::uint32_t number = 0;
    bool isNew = false;
  };

  Found operator()(std::uint64_t key) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slotOf(key);
    if (slot.key == key) return {slot.number, false};
    slot = {key, static_cast<std::uint32_t>(++used_)};
    return {slot.number, true};
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t number = 0;
  };

  Slot& slotOf(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key * 0x9e3779b97f4a7c15U) >> shift_;
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
    shift_ -= slots_.empty() ? 4 : 1;
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != 0) slotOf(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  int shift_ = 64;
};

}  // namespace pipetrace
