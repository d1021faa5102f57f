#include "viewer/what_if/finding_change.h"

#include <algorithm>
#include <cmath>

#include "schedule/scale/scale_option.h"

namespace pipetrace {
namespace {

/// As many digits as advice has.
WhatIfChanges::Factor inverseOf(double times) {
  return std::llround(1e4 / times) * (ScaleOption::kOne / 10'000);
}

}  // namespace

std::optional<WhatIfChanges> changeThatRemoves(const Finding& finding) {
  WhatIfChanges changes;
  switch (finding.kind) {
    case FindingKind::kSlowStages: {
      const auto* facts = finding.factsOf<StagesBesideOthers>();
      if (facts == nullptr) break;
      const bool isOfSome = !facts->slowOnes.empty() && facts->ofSlowOnes.isKnown;
      const double times = isOfSome ? facts->ofSlowOnes.times : facts->all.times;
      if (times <= 1) break;
      for (const std::int32_t stage : isOfSome ? facts->slowOnes : finding.stages) {
        changes.stages[stage] = inverseOf(times);
      }
      break;
    }
    case FindingKind::kSlowRank: {
      const auto* facts = finding.factsOf<SlowerRanks::Rank>();
      if (facts == nullptr || facts->factor <= 1) break;
      for (const int rank : whereaboutsOf(finding).ranks) {
        changes.ranks[rank] = inverseOf(facts->factor);
      }
      break;
    }
    case FindingKind::kSlowReplica: {
      const auto* facts = finding.factsOf<SlowReplica>();
      if (facts == nullptr || facts->factor <= 1) break;
      for (const int rank : facts->ranks) changes.ranks[rank] = inverseOf(facts->factor);
      break;
    }
    case FindingKind::kSlowLink: {
      const auto* facts = finding.factsOf<LinkBesideOthers>();
      if (facts == nullptr || !facts->others) break;
      for (const auto& [from, to] : whereaboutsOf(finding).links) {
        changes.linkTimes[std::minmax(from, to)] = *facts->others;
      }
      break;
    }
    case FindingKind::kData: changes.kinds["data"] = 0; break;
    case FindingKind::kLateJob: {
      const auto* facts = finding.factsOf<BlamedJob>();
      if (facts == nullptr || !facts->opensStep) break;
      changes.usualLaunches = {facts->rank};
      break;
    }
    case FindingKind::kLateJobs: {
      const std::vector<int> ranks = whereaboutsOf(finding).ranks;
      if (finding.isOfMany || ranks.empty()) {
        changes.leavesOutLaunches = true;
      } else {
        changes.usualLaunches = {ranks.begin(), ranks.end()};
      }
      break;
    }
    default: break;
  }
  if (changes.empty()) return std::nullopt;
  return changes;
}

}  // namespace pipetrace
