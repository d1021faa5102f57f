#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pipetrace {

/// Index into a StringTable. 0 is the empty string.
using StringId = std::uint32_t;

/// Each distinct string once. Views stay valid until the table is destroyed (moving it keeps them
/// valid). Not thread-safe.
class StringTable {
 public:
  StringTable();
  StringTable(const StringTable& other);
  StringTable& operator=(const StringTable& other);
  StringTable(StringTable&&) noexcept = default;
  StringTable& operator=(StringTable&&) noexcept = default;
  ~StringTable() = default;

  /// The id of `text`, added if new.
  StringId intern(std::string_view text);

  /// `id` must come from intern() of this table.
  std::string_view operator[](StringId id) const { return strings_[id]; }

  std::size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;  // a deque, so that the keys below stay where they are
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace pipetrace
