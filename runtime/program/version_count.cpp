#include "runtime/program/version_count.h"

#include <algorithm>

#include "trace/event.h"

namespace pipetrace {

VersionCount::VersionCount(const Plan& plan)
    : numMicroBatches_(plan.numMicroBatches),
      versions_(weightVersions(plan)),
      before_(static_cast<std::size_t>(plan.numStages), 0),
      made_(before_) {}

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

std::vector<int> VersionCount::usesOf(int stage) const {
  std::vector<int> uses;
  for (int microBatch = 0; microBatch < numMicroBatches_; ++microBatch) {
    const auto version = static_cast<std::size_t>(usedBy(stage, microBatch));
    if (uses.size() <= version) uses.resize(version + 1);
    ++uses[version];
  }
  return uses;
}

}  // namespace pipetrace
