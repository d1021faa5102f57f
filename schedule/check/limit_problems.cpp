#include "schedule/check/limit_problems.h"

#include <algorithm>
#include <string>

#include "schedule/check/held_memory.h"
#include "schedule/check/weight_versions.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// The most that a rank holds, and where it first holds more than the limit.
struct Excess {
  std::int64_t limit = 0;
  std::int64_t most = 0;
  int cell = -1;

  void note(std::int64_t held, int at) {
    most = std::max(most, held);
    if (limit > 0 && held > limit && cell < 0) cell = at;
  }
  void report(int rank, const Action& action, const std::string& unit, std::int64_t atCell,
              std::vector<Problem>& problems) const {
    problems.push_back({rank, cell,
                        toText(action) + " makes " + std::to_string(atCell) + unit +
                            ", and the limit is " + std::to_string(limit) +
                            "; the rank's most is " + std::to_string(most)});
  }
};

void findHeldTooMuch(const Plan& plan, const CheckOptions& options, const WeightVersions& versions,
                     std::vector<Problem>& problems) {
  if (options.mostLive <= 0 && options.memoryLimit <= 0) return;
  const Costs unit = Costs::equal(plan.numStages, {});
  const Costs& costs = options.memoryLimit > 0 ? *options.costs : unit;
  const auto weights = weightsByRank(plan, costs, versions);
  const HeldFor heldFor = whatActivationsAreHeldFor(plan);
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    HeldMemory held(plan, heldFor, costs, weights[static_cast<std::size_t>(rank)], rank);
    Excess live{.limit = options.mostLive};
    Excess memory{.limit = options.memoryLimit};
    std::int64_t liveThere = 0;
    std::int64_t memoryThere = 0;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      held.begin(actions[i]);
      live.note(held.live(), static_cast<int>(i));
      memory.note(held.memory(), static_cast<int>(i));
      if (live.cell == static_cast<int>(i)) liveThere = held.live();
      if (memory.cell == static_cast<int>(i)) memoryThere = held.memory();
      held.end(actions[i]);
    }
    const auto at = [&](int cell) { return actions[static_cast<std::size_t>(cell)]; };
    if (live.cell >= 0) {
      live.report(rank, at(live.cell), " activations that are held at once", liveThere, problems);
    }
    if (memory.cell >= 0) {
      memory.report(rank, at(memory.cell), " of memory that is held at once", memoryThere,
                    problems);
    }
  }
}

void findStaleWeights(const Plan& plan, const CheckOptions& options, const WeightVersions& versions,
                      std::vector<Problem>& problems) {
  for (const WeightVersions::TooEarly& early : versions.tooEarly) {
    const int every = plan.updates.everyOf(early.stage);
    const int own = plan.numberInReplica(early.microBatch);
    const int last = early.microBatch - own + (own / every - 1) * every - 1;
    problems.push_back({early.at.rank, early.at.cell,
                        std::to_string(early.stage) + "F" + std::to_string(early.microBatch) +
                            " needs the weights that micro-batches up to " + std::to_string(last) +
                            " leave, and these are not all done: stage " +
                            std::to_string(early.stage) + " would need a third version"});
  }
  for (std::size_t s = 0; s < versions.stages.size(); ++s) {
    const WeightVersions::Stage& stage = versions.stages[s];
    const std::string name = "stage " + std::to_string(s);
    if (options.mostVersions > 0 && stage.held > options.mostVersions) {
      problems.push_back({stage.heldAt.rank, stage.heldAt.cell,
                          name + " keeps " + std::to_string(stage.held) +
                              " versions of its weights, and the limit is " +
                              std::to_string(options.mostVersions)});
    }
    if (options.mostDistance >= 0 && stage.distance > options.mostDistance) {
      problems.push_back({stage.distanceAt.rank, stage.distanceAt.cell,
                          name + " applies a gradient that is " + std::to_string(stage.distance) +
                              " updates out of date, and the limit is " +
                              std::to_string(options.mostDistance)});
    }
  }
}

}  // namespace

std::vector<Problem> limitProblems(const Plan& plan, const CheckOptions& options) {
  if (options.memoryLimit > 0 &&
      (options.costs == nullptr ||
       options.costs->stages.size() < static_cast<std::size_t>(plan.numStages))) {
    throw Error("a memory limit needs the costs of all " + std::to_string(plan.numStages) +
                " stages");
  }
  std::vector<Problem> problems;
  if (auto wrong = wrongUpdates(plan)) return {*wrong};
  const WeightVersions versions = weightVersions(plan);
  findHeldTooMuch(plan, options, versions, problems);
  findStaleWeights(plan, options, versions, problems);
  return problems;
}

}  // namespace pipetrace
