#include "schedule/builders/placements.h"
#include "schedule/builders/schedules.h"

namespace pipetrace {
namespace {

// Source: Lamy-Poirier 2022, "Breadth-First Pipeline Parallelism"; torch's ScheduleLoopedBFS.
Plan loopedBfs(const PlanSize& size) {
  const auto& [ranks, microBatches, chunks] = size;
  Plan plan = emptyPlan(schedules::kLoopedBfs, size);
  for (int rank = 0; rank < ranks; ++rank) {
    auto& row = plan.ranks[static_cast<std::size_t>(rank)];
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int stage = chunk * ranks + rank;
      for (int m = 0; m < microBatches; ++m) row.push_back({JobKind::kForward, stage, m});
    }
    for (int chunk = chunks - 1; chunk >= 0; --chunk) {
      const int stage = chunk * ranks + rank;
      for (int m = microBatches - 1; m >= 0; --m) row.push_back({JobKind::kBackward, stage, m});
    }
  }
  return plan;
}

/// ((v - 1) max(m, p) + m + p - 1) (F + B); peak v m. Source: Lamy-Poirier 2022, section 4.
std::optional<ClosedForm> formOfLoopedBfs(const FormInput& given) {
  return formOf(given, flushedLength(given), [&](int) { return given.v * given.m; });
}

}  // namespace

const ScheduleInfo schedules::kLoopedBfs = complete({
    .name = "LoopedBFS",
    .aliases = "ScheduleLoopedBFS, Breadth-First",
    .summary = "all micro-batches through one chunk, then through the next",
    .usualChunks = 2,
    .mostChunks = ScheduleInfo::kAnyNumber,
    .build = loopedBfs,
    .closedForm = formOfLoopedBfs,
    .torch = "LoopedBFS",
});

}  // namespace pipetrace
