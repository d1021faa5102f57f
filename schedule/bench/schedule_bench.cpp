// How long a large plan takes: built, checked, simulated. Arguments: micro-batches; 64 ranks.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "schedule/build_schedule.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

constexpr int kRanks = 64;

Costs costsOf(const Plan& plan) {
  Costs costs = Costs::equal(plan.numStages, {1000, 2000, 1000, 1000});
  costs.transfer = 10;
  return costs;
}

std::int64_t actionsOf(const Plan& plan) {
  std::int64_t count = 0;
  for (const auto& actions : plan.ranks) count += static_cast<std::int64_t>(actions.size());
  return count;
}

void buildCheckSimulate(benchmark::State& state, const std::string& name) {
  std::int64_t actions = 0;
  for (auto _ : state) {
    const CheckedPlan plan = buildSchedule(name, kRanks, static_cast<int>(state.range(0)));
    actions = actionsOf(*plan);
    benchmark::DoNotOptimize(simulate(plan, costsOf(*plan)).length);
  }
  state.counters["actions"] = static_cast<double>(actions);
  state.SetComplexityN(state.range(0));
}

void dryRunOnly(benchmark::State& state, const std::string& name) {
  const CheckedPlan plan = buildSchedule(name, kRanks, static_cast<int>(state.range(0)));
  const Costs costs = costsOf(*plan);
  for (auto _ : state) benchmark::DoNotOptimize(dryRun(plan, costs).length);
  state.SetComplexityN(state.range(0));
}

bool isSearch(const std::string& name) { return name == "auto"; }

void registerAll() {
  for (const std::string& name : scheduleNames()) {
    if (isSearch(name)) continue;  // takes the time that it is given
    benchmark::RegisterBenchmark(("buildCheckSimulate/" + name).c_str(), buildCheckSimulate, name)
        ->RangeMultiplier(2)
        ->Range(256, 1024)
        ->Unit(benchmark::kMillisecond)
        ->Complexity(benchmark::oN);
    benchmark::RegisterBenchmark(("dryRun/" + name).c_str(), dryRunOnly, name)
        ->Arg(1024)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  pipetrace::registerAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return EXIT_SUCCESS;
}
