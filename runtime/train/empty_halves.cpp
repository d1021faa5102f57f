#include "runtime/train/empty_halves.h"

#include "schedule/simulate/simulate.h"
#include "trace/text/number_text.h"

namespace pipetrace {

std::string noteOfEmptyHalves(const CheckedPlan& plan, const std::set<int>& stages) {
  if (stages.empty()) return "";
  Costs costs = Costs::equal(plan->numStages, {.forward = kNsPerMs,
                                               .backward = 2 * kNsPerMs,
                                               .backwardInput = kNsPerMs,
                                               .backwardWeight = kNsPerMs});
  const Nanoseconds planned = simulate(plan, costs).length;
  std::string list;
  for (const int stage : stages) {
    StageCosts& own = costs.stages[static_cast<std::size_t>(stage)];
    own.backwardInput = own.backward;
    own.backwardWeight = 0;
    list += (list.empty() ? "stage " : ", stage ") + std::to_string(stage);
  }
  const Nanoseconds length = simulate(plan, costs).length;
  if (length <= planned) return "";
  const std::string ratio = factorText(static_cast<double>(length) / static_cast<double>(planned));
  return list + (stages.size() == 1 ? " has" : " have") +
         " nothing to do in the weight half of a backward, as there is no pipetrace::Linear; a "
         "step "
         "of " +
         plan->name + " takes " + ratio + " times as long as with two equal halves";
}

}  // namespace pipetrace
