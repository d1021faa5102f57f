#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The types of events to leave out: kinds by their names in the job log (PaddlePaddle's
/// `backward_b` and `backward_w` included), a program's own types by their own names.
class SkippedTypes {
 public:
  /// `strings`: the string table of the timeline whose events are checked.
  SkippedTypes(const std::vector<std::string>& types, const StringTable& strings);

  bool has(const Event& event) const {
    return kinds_[static_cast<std::size_t>(event.kind)] ||
           (event.kind == JobKind::kOther && names_.contains(strings_[event.name]));
  }

 private:
  std::array<bool, kJobKindCount> kinds_{};
  std::set<std::string, std::less<>> names_;
  const StringTable& strings_;
};

}  // namespace pipetrace
