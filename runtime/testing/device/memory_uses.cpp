#include "runtime/testing/device/memory_uses.h"

#include <algorithm>

#include "runtime/testing/device/device_state.h"

namespace pipetrace::test_device {
namespace {

/// The bytes of its storage from the tensor's first to its last element.
std::pair<std::size_t, std::size_t> bytesOf(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return {0, 0};
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  const auto first = static_cast<std::size_t>(tensor.storage_offset()) * tensor.itemsize();
  return {first, first + static_cast<std::size_t>(last + 1) * tensor.itemsize()};
}

void report(std::string text) { deviceState().findings.push_back(std::move(text)); }

const char* verb(Use use) { return use == Use::kRead ? " reads " : " writes "; }

/// `mine` does not come after `other`, which it has to.
void reportMissingWait(const Access& mine, Use use, const Access& other, const std::string& did) {
  Actors& actors = deviceState().actors;
  report(toText(mine) + verb(use) + toText(mine.type, mine.sizes) + ", " + did +
         "; nothing makes " + actors.nameOf(mine.actor) + " wait for " +
         actors.nameOf(other.actor));
  actors.pretendWait(mine.actor, other);
}

void check(const RangeUses& range, const Access& mine, Use use) {
  const Actors& actors = deviceState().actors;
  const auto comesAfter = [&](const Access& other) {
    return other.actor == kNobody || actors.knownBy(mine.actor).knows(other.actor, other.epoch);
  };
  const Access& write = range.write;
  if (!comesAfter(write)) {
    reportMissingWait(
        mine, use, write,
        range.isSet ? "which " + toText(write) + " wrote as " + toText(write.type, write.sizes)
                    : "whose memory was allocated on " + actors.nameOf(write.actor) +
                          ", where earlier work may still use it");
  }
  if (use == Use::kRead) {
    if (!range.isSet) {
      report(toText(mine) + " reads " + toText(mine.type, mine.sizes) +
             ", which nobody has written");
    }
    return;
  }
  for (const Access& read : range.reads) {
    if (comesAfter(read)) continue;
    reportMissingWait(mine, use, read,
                      "which " + toText(read) + " reads as " + toText(read.type, read.sizes));
  }
}

}  // namespace

Access accessOf(const at::Tensor& tensor, const Operation& operation) {
  Access access;
  static_cast<Operation&>(access) = operation;
  access.type = tensor.scalar_type();
  access.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  return access;
}

std::string toText(const Operation& operation) {
  return *operation.name + (operation.label != nullptr ? " [" + *operation.label + "]" : "") +
         " on " + deviceState().actors.nameOf(operation.actor);
}

std::string toText(c10::ScalarType type, c10::IntArrayRef sizes) {
  return c10::str(type, " ", sizes);
}

MemoryUses::MemoryUses(std::size_t bytes, RangeUses all) : bytes_(bytes) {
  ranges_.emplace(0, std::move(all));
}

void MemoryUses::forgetAccesses() {
  for (auto& [begin, range] : ranges_) {
    range.write = {};
    range.reads.clear();
  }
}

void MemoryUses::resize(std::size_t bytes) {
  bytes_ = bytes;
  // The first one stays, as it does in an empty block.
  ranges_.erase(ranges_.lower_bound(std::max<std::size_t>(bytes, 1)), ranges_.end());
}

MemoryUses::Ranges::iterator MemoryUses::cutAt(std::size_t byte) {
  const auto next = ranges_.lower_bound(byte);
  if (byte >= bytes_ || (next != ranges_.end() && next->first == byte)) return next;
  return ranges_.emplace_hint(next, byte, std::prev(next)->second);
}

void MemoryUses::add(const at::Tensor& tensor, Use use, const Operation& operation) {
  const auto [first, last] = bytesOf(tensor);
  if (first == last) return;
  const Access mine = accessOf(tensor, operation);
  const auto begin = cutAt(first);
  const auto end = cutAt(last);
  for (auto it = begin; it != end; ++it) {
    RangeUses& range = it->second;
    check(range, mine, use);
    if (use == Use::kWrite) continue;
    range.isSet = true;  // that it was not is said once
    const auto same = std::find_if(range.reads.begin(), range.reads.end(),
                                   [&](const Access& read) { return read.actor == mine.actor; });
    if (same == range.reads.end()) {
      range.reads.push_back(mine);
    } else {
      *same = mine;
    }
  }
  if (use == Use::kRead) return;
  ranges_.erase(begin, end);
  ranges_[first] = {.write = mine, .reads = {}, .isSet = true};
}

}  // namespace pipetrace::test_device
