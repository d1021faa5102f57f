#include "schedule/backward_parts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

/// By stage: the cell of a row with its last backward, weight half or fused pair.
std::map<int, std::size_t> lastBackwards(const std::vector<Action>& row) {
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool isPair = row[i].kind == JobKind::kForwardBackward;
    if (isPair || mayHaveParts(row[i].kind)) {
      last[isPair ? row[i].backwardStage : row[i].stage] = i;
    }
  }
  return last;
}

}  // namespace

Plan withPartCounts(Plan plan) {
  const auto keyOf = [](const Action& action) {
    return std::tuple(action.kind, action.stage, action.microBatch);
  };
  std::map<std::tuple<JobKind, int, int>, int> counts;
  for (const std::vector<Action>& row : plan.ranks) {
    for (const Action& action : row) {
      if (!action.isPart()) continue;
      int& count = counts[keyOf(action)];
      count = std::max(count, action.part + 1);
    }
  }
  if (counts.empty()) return plan;
  for (std::vector<Action>& row : plan.ranks) {
    for (Action& action : row) {
      if (action.isPart()) action.parts = counts[keyOf(action)];
    }
  }
  return plan;
}

void requireLastBackwards(const Plan& plan, const std::string& who) {
  if (plan.isAsynchronous()) {
    throw Error(who + ": the plan " + plan.name +
                " changes its weights without a flush, so none of its backwards is the last of a "
                "step");
  }
  if (plan.isForwardOnly()) throw Error(who + ": the plan " + plan.name + " has no backward");
}

Plan withLastBackwardParts(Plan plan, const std::vector<int>& partsOfStage) {
  for (const int parts : partsOfStage) {
    if (parts >= 1) continue;
    throw Error("a backward cannot be cut into " + std::to_string(parts) +
                " parts; it has at least one");
  }
  if (std::all_of(partsOfStage.begin(), partsOfStage.end(), [](int parts) { return parts == 1; })) {
    return plan;
  }
  requireLastBackwards(plan, "a last backward in parts");
  for (std::vector<Action>& row : plan.ranks) {
    const std::map<int, std::size_t> last = lastBackwards(row);
    std::vector<Action> cut;
    for (std::size_t i = 0; i < row.size(); ++i) {
      Action action = row[i];
      const auto stage = static_cast<std::size_t>(std::max(action.stage, 0));
      const bool isWanted = mayHaveParts(action.kind) && !action.isPart() &&
                            last.at(action.stage) == i && stage < partsOfStage.size();
      const int parts = isWanted ? partsOfStage[stage] : 1;
      if (parts == 1) {
        cut.push_back(action);
        continue;
      }
      action.parts = parts;
      for (action.part = 0; action.part < parts; ++action.part) cut.push_back(action);
    }
    row = std::move(cut);
  }
  return plan;
}

Plan withLastBackwardParts(Plan plan, int parts) {
  const std::vector<int> ofStage(static_cast<std::size_t>(std::max(plan.numStages, 1)), parts);
  return withLastBackwardParts(std::move(plan), ofStage);
}

}  // namespace pipetrace
