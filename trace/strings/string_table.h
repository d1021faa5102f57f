#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// Index into a StringTable. 0 is the empty string.
using StringId = std::uint32_t;

/// Stores each distinct string once. Views stay valid until the table is destroyed, also when it is
/// moved. Not thread-safe.
class StringTable {
 public:
  StringTable();
  StringTable(const StringTable&) = default;
  StringTable& operator=(const StringTable&) = default;
  StringTable(StringTable&&) noexcept = default;
  StringTable& operator=(StringTable&&) noexcept = default;
  ~StringTable() = default;

  /// The id of `text`, which is added if it is new.
  StringId intern(std::string_view text);

  /// The id of `text`, if the table has it.
  std::optional<StringId> find(std::string_view text) const;

  /// `id` must come from intern() of this table.
  std::string_view operator[](StringId id) const { return strings_[id]; }

  std::size_t size() const { return strings_.size(); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    StringId idPlusOne = 0;  // 0: free
  };

  /// The place in slots_ of a string with that hash, or of the free one where it belongs.
  std::size_t slotOf(std::string_view text, std::uint32_t hash) const;
  void grow();

  std::deque<std::string> strings_;  // a deque, so that views stay valid
  std::vector<Slot> slots_;          // by hash, the next free one where it is taken; a power of two
};

/// Maps ids of one string table to ids of another. It grows with the table, so that each string is
/// looked up only once.
class StringRemap {
 public:
  /// Adds the strings of `from` that are new since the last call to `to`. Both are the same tables
  /// in every call.
  void grow(const StringTable& from, StringTable& to);

  /// The id in `to`. `id` must have been in `from` at the last grow().
  StringId operator[](StringId id) const { return ids_[id]; }

  /// Whether all strings have the same id in both tables.
  bool isIdentity() const { return isIdentity_; }

 private:
  std::vector<StringId> ids_;  // ids in `to` by the id in `from`
  bool isIdentity_ = true;
};

}  // namespace pipetrace
