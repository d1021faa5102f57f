#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "runtime/control/verdict/find_stall.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Looks for stalls again and again. Ranks that wait are blamed only after their wait has looked
/// vain for StallLimits::silence: what they wait for may be under way, and what they said is old.
class StallWatch {
 public:
  std::optional<FailureCause> look(std::span<const RankView> views, const StallLimits& limits,
                                   const PlanWords& words, Nanoseconds now);
  /// Nobody looked for so long, until `now`: the time does not count.
  void slept(Nanoseconds time, Nanoseconds now) { since_ = std::min(since_ + time, now); }

 private:
  std::optional<FailureCause> suspected_;
  Nanoseconds since_ = 0;
};

}  // namespace pipetrace
