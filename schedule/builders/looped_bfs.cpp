#include "schedule/builders/builders.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Plan loopedBfs(int ranks, int microBatches, int chunks) {
  Plan plan = loopedStages("LoopedBFS", ranks, microBatches, chunks);
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

}  // namespace pipetrace
