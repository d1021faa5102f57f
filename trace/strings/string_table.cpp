#include "trace/strings/string_table.h"

#include <cstring>

namespace pipetrace {
namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;

std::uint64_t mixed(std::uint64_t hash, const char* bytes, std::size_t count) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, count);
  hash = (hash ^ word) * kOdd;
  return hash ^ (hash >> 29);
}

/// Names are short and looked up for every event of a trace: eight bytes at a time.
std::uint32_t hashOf(std::string_view text) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::uint64_t hash = text.size() * kOdd;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left > kWord; at += kWord, left -= kWord) hash = mixed(hash, at, kWord);
  if (left == kWord || text.size() > kWord) {
    hash = mixed(hash, text.data() + text.size() - kWord, kWord);
  } else if (left > 0) {
    hash = mixed(hash, at, left);
  }
  return static_cast<std::uint32_t>((hash * kOdd) >> 32);
}

}  // namespace

StringTable::StringTable() { intern(""); }

std::size_t StringTable::slotOf(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].idPlusOne != 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && strings_[slots_[at].idPlusOne - 1] == text) break;
  }
  return at;
}

std::optional<StringId> StringTable::find(std::string_view text) const {
  const Slot& slot = slots_[slotOf(text, hashOf(text))];
  return slot.idPlusOne == 0 ? std::nullopt : std::optional(slot.idPlusOne - 1);
}

StringId StringTable::intern(std::string_view text) {
  if (2 * (strings_.size() + 1) > slots_.size()) grow();
  const std::uint32_t hash = hashOf(text);
  const std::size_t at = slotOf(text, hash);
  if (slots_[at].idPlusOne != 0) return slots_[at].idPlusOne - 1;
  const auto id = static_cast<StringId>(strings_.size());
  strings_.emplace_back(text);
  slots_[at] = {hash, id + 1};
  return id;
}

void StringTable::grow() {
  std::vector<Slot> larger(slots_.empty() ? 32 : 2 * slots_.size());
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.idPlusOne == 0) continue;
    std::size_t at = slot.hash & mask;
    while (larger[at].idPlusOne != 0) at = (at + 1) & mask;
    larger[at] = slot;
  }
  slots_.swap(larger);
}

void StringRemap::grow(const StringTable& from, StringTable& to) {
  for (auto id = static_cast<StringId>(ids_.size()); id < from.size(); ++id) {
    ids_.push_back(to.intern(from[id]));
    isIdentity_ = isIdentity_ && ids_.back() == id;
  }
}

}  // namespace pipetrace
