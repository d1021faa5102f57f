#include "schedule/closed_form.h"

#include <algorithm>

#include "schedule/build_schedule.h"

namespace pipetrace {

std::optional<ClosedForm> closedForm(std::string_view name, const PlanSize& size,
                                     const StageCosts& each) {
  const PlanSize settled = settledSize(name, size);
  const ScheduleInfo& info = scheduleInfo(name);
  const bool isKnown = info.closedForm != nullptr && (each.recompute == 0 || info.formHasRecompute);
  if (!isKnown) return std::nullopt;
  return info.closedForm(
      {.p = settled.ranks,
       .m = settled.microBatches,
       .v = settled.chunks,
       .f = each.forward,
       .b = each.backward,
       .i = each.backwardInput,
       .w = each.backwardWeight,
       .fb = each.forwardBackward < 0 ? each.forward + each.backward : each.forwardBackward,
       .r = each.recompute});
}

// On a chunk, fewer micro-batches than ranks take as long as p micro-batches do. The last rank does
// its recomputes one by one. The others run while their ranks wait for the gradient that they are
// for.
Nanoseconds flushedLength(const FormInput& given) {
  const int loops = (given.v - 1) * std::max(given.m, given.p);
  return (loops + given.m + given.p - 1) * (given.f + given.b) + given.m * given.r;
}

}  // namespace pipetrace
