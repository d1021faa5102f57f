#include "schedule/compare/costed_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "schedule/with_recompute.h"
#include "schedule/with_reductions.h"

namespace pipetrace {

Plan withCostedWork(Plan plan, const Costs& costs, const char* agreement) {
  const bool hasOwnRecomputes = plan.hasRecomputes();
  const bool reduces = std::any_of(costs.stages.begin(), costs.stages.end(),
                                   [](const StageCosts& stage) { return stage.reduction > 0; });
  if (reduces) plan = withReductions(std::move(plan));
  if (costs.scalarAllReduce > 0) plan = withScalarAllReduce(std::move(plan), agreement);
  if (hasOwnRecomputes) return plan;
  std::vector<bool> stages;
  for (const StageCosts& stage : costs.stages) stages.push_back(stage.recompute > 0);
  const bool recomputes = std::find(stages.begin(), stages.end(), true) != stages.end();
  return recomputes ? withRecompute(plan, stages) : plan;
}

}  // namespace pipetrace
