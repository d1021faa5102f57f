#include "schedule/data_parallel.h"

#include <utility>

namespace pipetrace {

std::vector<Action> withoutDataParallel(std::vector<Action> row) {
  std::erase_if(row, [](const Action& action) { return isDataParallel(action.kind); });
  return row;
}

Plan withoutDataParallel(Plan plan) {
  for (std::vector<Action>& row : plan.ranks) row = withoutDataParallel(std::move(row));
  return plan;
}

}  // namespace pipetrace
