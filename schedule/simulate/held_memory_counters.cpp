#include "schedule/simulate/held_memory_counters.h"

#include <string_view>

#include "schedule/simulate/held_memory.h"

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

void addHeldMemoryCounters(const Schedule& schedule, const Costs& costs, const PlanTiming& timing,
                           Timeline& timeline) {
  const auto weights = weightsByRank(schedule, costs, timing.versions());
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    HeldMemory held(costs, weights[static_cast<std::size_t>(rank)]);
    const std::size_t first = countersOf(rank, timeline);
    const auto sample = [&](Nanoseconds time) {
      addSample(timeline.counters[first], time, held.live());
      addSample(timeline.counters[first + 1], time, static_cast<double>(held.memory()));
    };
    const auto& actions = schedule.ranks[static_cast<std::size_t>(rank)];
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
