#include "runtime/control/verdict/stall_watch.h"

#include <algorithm>

namespace pipetrace {

namespace {

bool standsAsBefore(const ActionStatus& before, const ActionStatus& now) {
  return before.action == now.action && before.ended == now.ended && before.awaited == now.awaited;
}

bool isSame(const FailureCause& before, const FailureCause& now) {
  return before.kind == now.kind && before.rank == now.rank &&
         standsAsBefore(before.status, now.status) &&
         std::equal(before.cycle.begin(), before.cycle.end(), now.cycle.begin(), now.cycle.end(),
                    [](const FailureCause::Member& a, const FailureCause::Member& b) {
                      return a.rank == b.rank && standsAsBefore(a.status, b.status);
                    });
}

}  // namespace

std::optional<FailureCause> StallWatch::look(std::span<const RankView> views,
                                             const StallLimits& limits, const PlanWords& words,
                                             Nanoseconds now) {
  std::optional<FailureCause> found = findStall(views, limits, words);
  const bool isBefore = found && suspected_ && isSame(*suspected_, *found);
  if (!isBefore) since_ = now;
  suspected_ = found;
  if (!found) return found;
  const bool waits = found->kind == CauseKind::kMispaired || found->kind == CauseKind::kCycle;
  if (waits && now - since_ < limits.silence) found.reset();
  return found;
}

}  // namespace pipetrace
