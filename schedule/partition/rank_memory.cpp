#include "schedule/partition/rank_memory.h"

#include <algorithm>
#include <set>

#include "schedule/check/held_memory.h"
#include "schedule/check/weight_versions.h"

namespace pipetrace {

RankMemory::Parts RankMemory::partsOf(const StageCosts& stage) {
  return {stage.activation, stage.activation - stage.freedByInput, stage.recomputed, stage.working};
}

StageCosts RankMemory::unitOf(std::size_t part) {
  switch (part) {
    case 0: return {.activation = 1, .freedByInput = 1};
    case 1: return {.activation = 0, .freedByInput = -1};
    case 2: return {.activation = 0, .recomputed = 1};
    default: return {.activation = 0, .working = 1};
  }
}

RankMemory::RankMemory(const Plan& plan, int rank) : stages_(plan.stagesOfRank(rank)) {
  const HeldFor heldFor = whatActivationsAreHeldFor(plan);
  const WeightVersions versions = weightVersions(plan);
  const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
  std::vector<Times> found(actions.size(), Times(stages_.size() * kParts));
  Costs one = Costs::equal(plan.numStages, {.activation = 0});
  for (std::size_t k = 0; k < stages_.size(); ++k) {
    const auto stage = static_cast<std::size_t>(stages_[k]);
    versions_.push_back(versions.stages[stage].held);
    for (std::size_t part = 0; part < kParts; ++part) {
      one.stages[stage] = unitOf(part);
      HeldMemory held(plan, heldFor, one, 0, rank);
      for (std::size_t i = 0; i < actions.size(); ++i) {
        held.begin(actions[i]);
        found[i][k * kParts + part] = held.memory();
        held.end(actions[i]);
      }
    }
    one.stages[stage] = {.activation = 0};
  }
  // No part is negative, so a sum in which none counts more often than in another is not larger.
  const auto isAtMost = [](const Times& a, const Times& b) {
    return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
  };
  for (const Times& sum : std::set<Times>(found.begin(), found.end())) {
    if (std::any_of(sums_.begin(), sums_.end(), [&](const Times& b) { return isAtMost(sum, b); })) {
      continue;
    }
    std::erase_if(sums_, [&](const Times& a) { return isAtMost(a, sum); });
    sums_.push_back(sum);
  }
}

std::int64_t RankMemory::peak(const std::vector<StageCosts>& stages) const {
  std::int64_t weights = 0;
  for (std::size_t k = 0; k < stages_.size(); ++k) {
    weights += versions_[k] * stages[static_cast<std::size_t>(stages_[k])].weights;
  }
  std::int64_t most = 0;
  for (const Times& times : sums_) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < stages_.size(); ++k) {
      const Parts parts = partsOf(stages[static_cast<std::size_t>(stages_[k])]);
      for (std::size_t part = 0; part < kParts; ++part) {
        sum += times[k * kParts + part] * parts[part];
      }
    }
    most = std::max(most, sum);
  }
  return weights + most;
}

}  // namespace pipetrace
