#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The types of events that are left out: kinds by their names in the job log (PaddlePaddle's
/// `backward_b` and `backward_w` included), types of a program's own by theirs.
class SkippedTypes {
 public:
  /// `strings`: the table of the timeline that is asked about.
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
