#pragma once

#include <cstddef>
#include <vector>

#include "trace/string_table.h"

namespace pipetrace {

/// Which ids the strings of one table have in another. It grows with the table, so that a string is
/// looked up once, however often it comes.
class StringRemap {
 public:
  /// Adds the strings of `from` that are new since the last call to `to`. Both are the same tables
  /// in every call.
  void grow(const StringTable& from, StringTable& to);

  /// `id` must be one of `from`, and in it when it was last grown.
  StringId operator[](StringId id) const { return ids_[id]; }

  /// All strings have the same id in both tables.
  bool isIdentity() const { return isIdentity_; }

 private:
  std::vector<StringId> ids_;  // in `to`, by the id in `from`
  bool isIdentity_ = true;
};

}  // namespace pipetrace
