#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace::test {

/// The updates that a rank of a stage has come to when it has done these micro-batches. Counts
/// everything again.
inline int updatesComeTo(const Plan& plan, int stage, int rank, const std::set<int>& done) {
  const int size = plan.microBatchesOfReplica();
  const int every = plan.updates.every[static_cast<std::size_t>(stage)];
  const auto turns = static_cast<int>(plan.placement.ranksOf(stage).size());
  int own = 0;
  int ended = 0;
  int firstLeft = -1;
  for (int m = 0; m < plan.numMicroBatches; ++m) {
    if (plan.rankOf(stage, m) != rank) continue;
    ++own;
    ended += done.count(m) > 0 ? 1 : 0;
    if (done.count(m) == 0 && firstLeft < 0) firstLeft = m % size;
  }
  if (ended == own) return (size - 1) / every + 1;
  return plan.updates.doubleBuffered ? firstLeft / every : ended * turns / every;
}

/// Whether a rank's turns at an asynchronous plan's micro-batches fit its updates.
inline bool updatesFit(const Plan& plan) {
  if (plan.updates.every.size() != static_cast<std::size_t>(plan.numStages)) return false;
  for (int s = 0; s < plan.numStages; ++s) {
    const int every = plan.updates.every[static_cast<std::size_t>(s)];
    std::vector<int> ranks = plan.placement.ranksOf(s);
    const auto count = static_cast<int>(ranks.size());
    if (every < 1) return false;
    if (count == 1) continue;
    std::sort(ranks.begin(), ranks.end());
    if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) return false;
    const bool isEven = plan.placement.run == 1 && every % count == 0;
    if (!isEven || plan.microBatchesOfReplica() < count) return false;
  }
  return true;
}

}  // namespace pipetrace::test
