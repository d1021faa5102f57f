#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "runtime/control/verdict/verdict.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// One rank knows this of another, or of itself, now.
struct RankView {
  ActionStatus status;     ///< as the rank last told it; `idle`, too
  Nanoseconds silent = 0;  ///< since when nothing was heard of it
};

struct StallLimits {
  Nanoseconds stepTimeout = 0;         ///< how long a rank may end no action; 0: for ever
  Nanoseconds silence = kNsPerSecond;  ///< how old what a rank said may be and still count
};

/// Finds the rank because of which ranks stand still, if one has ended no action for the step
/// timeout: follows who waits for whom to the root. `views` holds all ranks.
///
/// A root that has ended an action since is slow, not at fault: then there is no stall yet. Nor is
/// there one if the root is silent, unless it has been for the step timeout. Ranks in finish() do
/// not count as standing still.
std::optional<FailureCause> findStall(std::span<const RankView> views, const StallLimits& limits,
                                      const PlanWords& words);

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
