// The work that a plan lacks.
#include <algorithm>

#include "schedule/check/plan_index.h"

namespace pipetrace {
namespace {

std::string work(int stage, const char* letter, int microBatch) {
  return std::to_string(stage) + letter + std::to_string(microBatch);
}

constexpr const char* kPassLetters[] = {"F", "B", "W"};

}  // namespace

bool PlanIndex::hasAny(int stage, int microBatch) const {
  return find(kForwardPass, stage, microBatch).exists() ||
         find(kBackwardPass, stage, microBatch).exists() ||
         find(kWeightPass, stage, microBatch).exists();
}

void PlanIndex::findMissing() {
  const std::vector<bool> isMissingStage = findMissingStages();
  const std::vector<bool> isMissingMicroBatch = findMissingMicroBatches();
  for (int stage = 0; stage < size_.stages; ++stage) {
    if (isMissingStage[static_cast<std::size_t>(stage)]) continue;
    for (int m = 0; m < size_.microBatches; ++m) {
      if (!isMissingMicroBatch[static_cast<std::size_t>(m)]) findMissing(stage, m);
    }
  }
}

std::vector<bool> PlanIndex::findMissingStages() {
  std::vector<bool> isMissing;
  for (int stage = 0; stage < size_.stages; ++stage) {
    bool found = false;
    for (int m = 0; m < size_.microBatches && !found; ++m) found = hasAny(stage, m);
    isMissing.push_back(!found);
  }
  const bool isRank = std::count(isMissing.begin(), isMissing.end(), false) == plan_.numRanks();
  for (int stage = 0; stage < size_.stages; ++stage) {
    if (!isMissing[static_cast<std::size_t>(stage)]) continue;
    const std::string number = std::to_string(stage);
    problems_.add({.message = isRank
                                  ? "rank " + number + " is missing: no rank has stage " + number
                                  : "stage " + number + " is missing: no rank has any work of it"});
  }
  return isMissing;
}

std::vector<bool> PlanIndex::findMissingMicroBatches() {
  std::vector<bool> isMissing;
  for (int m = 0; m < size_.microBatches; ++m) {
    bool found = false;
    for (int stage = 0; stage < size_.stages && !found; ++stage) found = hasAny(stage, m);
    isMissing.push_back(!found);
  }
  if (std::find(isMissing.begin(), isMissing.end(), false) == isMissing.end()) return isMissing;
  for (auto from = isMissing.begin(); from != isMissing.end();) {
    const auto to = std::find(from, isMissing.end(), !*from);
    const auto first = std::to_string(from - isMissing.begin());
    const auto last = std::to_string(to - isMissing.begin() - 1);
    if (*from) {
      problems_.add(
          {.message =
               (to - from == 1 ? "micro-batch " + first + " is missing: no rank has any work of it"
                               : "micro-batches " + first + " to " + last +
                                     " are missing: no rank has any work of them")});
    }
    from = to;
  }
  return isMissing;
}

void PlanIndex::findMissing(int stage, int m) {
  const Position backward = find(kBackwardPass, stage, m);
  const Position weight = find(kWeightPass, stage, m);
  const bool split = backward.exists() && at(backward).kind == JobKind::kBackwardInput;
  if (find(kForwardPass, stage, m).exists() && backward.exists() && split == weight.exists())
    return;

  const int rank = plan_.rankOf(stage, m);
  if (isForwardOnly_) {
    if (find(kForwardPass, stage, m).exists()) return;
    problems_.add(rank, -1, [&] { return work(stage, "F", m) + " is missing"; });
    return;
  }
  for (const Pass pass : {kForwardPass, kBackwardPass}) {
    if (find(pass, stage, m).exists()) continue;
    problems_.add(rank, -1, [&] { return work(stage, kPassLetters[pass], m) + " is missing"; });
  }
  if (split && !weight.exists()) {
    problems_.add({rank, -1,
                   work(stage, "W", m) + " is missing: the plan has only the half " +
                       work(stage, "I", m) + " of that backward pass"});
  }
  if (!split && backward.exists() && weight.exists()) {
    problems_.add({weight.rank, weight.cell,
                   work(stage, "W", m) + " is done already by the whole backward pass " +
                       work(stage, "B", m)});
  }
}

}  // namespace pipetrace
