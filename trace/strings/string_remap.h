#pragma once

#include <cstddef>
#include <vector>

#include "trace/strings/string_table.h"

namespace pipetrace {

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
