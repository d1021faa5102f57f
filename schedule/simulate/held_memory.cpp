#include "schedule/simulate/held_memory.h"

#include <algorithm>
#include <string_view>

#include "schedule/simulate/plan_timing.h"

namespace pipetrace {
namespace {

constexpr std::string_view kLive = "live_activations";
constexpr std::string_view kMemory = "memory";

/// The place of the rank's two counters, made if missing.
std::size_t countersOf(int rank, Timeline& timeline) {
  for (std::size_t i = 0; i < timeline.counters.size(); ++i) {
    if (timeline.counters[i].rank == rank && timeline.counters[i].name == kLive) return i;
  }
  timeline.counters.push_back({.rank = rank, .name = std::string(kLive)});
  timeline.counters.push_back({.rank = rank, .name = std::string(kMemory), .unit = "bytes"});
  return timeline.counters.size() - 2;
}

void addSample(CounterSeries& series, Nanoseconds time, double value) {
  if (!series.samples.empty() && series.samples.back().value == value) return;
  series.samples.push_back({time, value});
}

}  // namespace

void HeldMemory::begin(const Action& action) {
  if (action.kind != JobKind::kForward && action.kind != JobKind::kForwardBackward) return;
  ++live_;
  memory_ += costsOf(action.stage).activation;
}

void HeldMemory::end(const Action& action) {
  switch (action.kind) {
    case JobKind::kBackward:
      --live_;
      memory_ -= costsOf(action.stage).activation;
      break;
    case JobKind::kForwardBackward:
      --live_;
      memory_ -= costsOf(action.backwardStage).activation;
      break;
    case JobKind::kBackwardInput: memory_ -= costsOf(action.stage).freedByInput; break;
    case JobKind::kBackwardWeight:
      --live_;
      memory_ -= costsOf(action.stage).activation - costsOf(action.stage).freedByInput;
      break;
    default: break;
  }
}

std::vector<std::int64_t> weightsByRank(const Plan& plan, const Costs& costs,
                                        const WeightVersions& versions) {
  std::vector<std::int64_t> weights;
  for (const std::vector<int>& stages : plan.stagesByRank()) {
    std::int64_t sum = 0;
    for (const int stage : stages) {
      const auto s = static_cast<std::size_t>(stage);
      sum += costs.stages[s].weights * versions.stages[s].held;
    }
    weights.push_back(sum);
  }
  return weights;
}

Peaks peaksOf(const Plan& plan, const Costs& costs, std::int64_t weights, int rank) {
  HeldMemory held(costs, weights);
  Peaks peaks{.live = 0, .memory = weights};
  for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
    held.begin(action);
    peaks.live = std::max(peaks.live, held.live());
    peaks.memory = std::max(peaks.memory, held.memory());
    held.end(action);
  }
  return peaks;
}

void addHeldMemoryCounters(const Plan& plan, const Costs& costs, const PlanTiming& timing,
                           Timeline& timeline) {
  const auto weights = weightsByRank(plan, costs, timing.versions());
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    HeldMemory held(costs, weights[static_cast<std::size_t>(rank)]);
    const std::size_t first = countersOf(rank, timeline);
    const auto sample = [&](Nanoseconds time) {
      addSample(timeline.counters[first], time, held.live());
      addSample(timeline.counters[first + 1], time, static_cast<double>(held.memory()));
    };
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const PlanTiming::Span& span = timing.span(timing.numberOf({rank, static_cast<int>(i)}));
      held.begin(actions[i]);
      sample(span.begin);
      held.end(actions[i]);
      sample(span.end);
    }
  }
}

}  // namespace pipetrace
