#include "schedule/simulate/dry_run.h"

#include <algorithm>

#include "schedule/check/held_memory.h"
#include "schedule/simulate/plan_timing.h"

namespace pipetrace {
namespace {

DryRun::Rank timesOf(const std::vector<Action>& actions, const PlanTiming& timing, int rank) {
  DryRun::Rank out;
  out.begin.reserve(actions.size());
  out.end.reserve(actions.size());
  bool started = false;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const PlanTiming::Span span = timing.span(timing.numberOf({rank, static_cast<int>(i)}));
    out.begin.push_back(span.begin);
    out.end.push_back(span.end);
    if (!isCompute(actions[i].kind)) continue;
    if (!started) out.first = span.begin;
    started = true;
    out.last = span.end;
    out.busy += span.end - span.begin;
  }
  return out;
}

DryRun runOnce(const Plan& plan, const Costs& costs, PlanTiming&& timing) {
  std::vector<Nanoseconds> free(plan.ranks.size(), timing.lr());
  timing.run(free);
  DryRun out;
  out.ranks.reserve(plan.ranks.size());
  const auto weights = weightsByRank(plan, costs, timing.versions());
  const HeldFor heldFor = whatActivationsAreHeldFor(plan);
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Peaks peaks = peaksOf(plan, heldFor, costs, weights[r], rank);
    out.ranks.push_back(timesOf(plan.ranks[r], timing, rank));
    out.ranks.back().peakLive = peaks.live;
    out.ranks.back().peakMemory = peaks.memory;
  }
  out.length = *std::max_element(free.begin(), free.end());
  out.length += timing.optimizerAtEnd();
  return out;
}

}  // namespace

DryRun dryRun(const CheckedPlan& plan, const Costs& costs) {
  return runOnce(*plan, costs, PlanTiming(plan, costs));
}

DryRun dryRunOfCandidate(const Plan& plan, const Costs& costs) {
  return runOnce(plan, costs, PlanTiming::ofCandidate(plan, costs));
}

double DryRun::spanBubble() const {
  Nanoseconds longest = 0;
  double bubble = 0;
  for (const Rank& rank : ranks) {
    const Nanoseconds span = rank.last - rank.first;
    if (span <= longest) continue;
    longest = span;
    bubble = static_cast<double>(span - rank.busy) / static_cast<double>(span);
  }
  return bubble;
}

}  // namespace pipetrace
