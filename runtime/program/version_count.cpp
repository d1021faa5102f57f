#include "runtime/program/version_count.h"

#include "trace/event.h"

namespace pipetrace {

VersionCount::VersionCount(const Plan& plan, int rank)
    : numMicroBatches_(plan.numMicroBatches),
      versions_(weightVersions(plan)),
      uses_(static_cast<std::size_t>(plan.numStages)),
      before_(uses_.size(), 0),
      made_(before_) {
  for (const int stage : plan.stagesOfRank(rank)) {
    std::vector<int>& uses = uses_[static_cast<std::size_t>(stage)];
    for (int microBatch = 0; microBatch < numMicroBatches_; ++microBatch) {
      if (plan.rankOf(stage, microBatch) != rank) continue;
      const auto version = static_cast<std::size_t>(usedBy(stage, microBatch));
      if (uses.size() <= version) uses.resize(version + 1);
      ++uses[version];
    }
  }
}

std::int32_t VersionCount::of(const Action& action) const {
  if (versions_.used.empty()) return kNotGiven;
  const auto stage = static_cast<std::size_t>(action.stage);
  if (action.kind == JobKind::kOptimizer) return made_[stage] + 1;
  return before_[stage] + usedBy(action.stage, action.microBatch);
}

int VersionCount::usedBy(int stage, int microBatch) const {
  if (versions_.used.empty()) return 0;
  const auto place = static_cast<std::size_t>(stage) * static_cast<std::size_t>(numMicroBatches_) +
                     static_cast<std::size_t>(microBatch);
  return versions_.used[place];
}

}  // namespace pipetrace
