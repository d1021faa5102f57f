#include "trace/strings/string_remap.h"

namespace pipetrace {

void StringRemap::grow(const StringTable& from, StringTable& to) {
  for (auto id = static_cast<StringId>(ids_.size()); id < from.size(); ++id) {
    ids_.push_back(to.intern(from[id]));
    isIdentity_ = isIdentity_ && ids_.back() == id;
  }
}

}  // namespace pipetrace
