// Rehearses every schedule with 8 ranks and 32 micro-batches, under three kinds of costs. Prints
// how far the steps are off the simulation, and how many jobs began over 2 ms after their inputs.
//
//   rehearsal_table [ranks [micro-batches [steps [schedule [replicas]]]]]
//
// With replicas, costs are by stage, and each stage has a reduction of 20 ms. Then it also prints
// by how much the part of them that a rank does not hide is off, on the worst rank. "all" is every
// schedule.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>

#include "apps/pipe_run/testing/rehearsed.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

struct Kind {
  const char* name;
  Costs (*of)(const Plan& plan);
};
constexpr Kind kKinds[] = {{"equal", testing::equalCosts},
                           {"by stage", testing::costsByStage},
                           {"by job", testing::costsByJob}};

void row(const CheckedPlan& plan, const Kind& kind, int steps) {
  const Costs costs = kind.of(*plan);
  const Timeline run = testing::rehearsed({.plan = plan, .costs = costs, .steps = steps});
  const PlanComparison comparison = compareWithPlan(Run(run), plan, costs);
  const JobLateness lateness = latenessOf(run, 2 * kNsPerMs);
  std::printf("%-24s %-9s %8.1f ms %+7.3f %%  %6.3f %% of %lld jobs  %s\n", plan->name.c_str(),
              kind.name, static_cast<double>(comparison.median.plannedStep) / 1e6,
              100 * comparison.worstStep, 100 * lateness.share(),
              static_cast<long long>(lateness.jobs),
              comparison.orderDeviation.empty() ? "" : comparison.orderDeviation.c_str());
  std::fflush(stdout);
}

/// By how much the part of the reductions that is not hidden is off: the worst rank of the last
/// step.
double worstExposedMs(const CheckedPlan& plan, const Costs& costs, const Timeline& run, int steps) {
  const Simulation planned = simulate(plan, costs, {.steps = steps});
  const auto expected = testing::exposedOf(planned.timeline, steps - 1);
  double worst = 0;
  for (const auto& [rank, exposed] : testing::exposedOf(run, steps - 1)) {
    const auto off = static_cast<double>(exposed - expected.at(rank)) / kNsPerMs;
    if (std::abs(off) > std::abs(worst)) worst = off;
  }
  return worst;
}

void rowOfReplicas(const Plan& one, int replicas, int steps) {
  const CheckedPlan plan(withReductions(withReplicas(one, replicas)));
  const Costs costs = testing::withReductionsOf(20 * kNsPerMs, testing::costsByStage(*plan));
  const Timeline run = testing::rehearsed({.plan = plan, .costs = costs, .steps = steps});
  const PlanComparison comparison = compareWithPlan(Run(run), plan, costs);
  std::printf("%-24s %-9s %8.1f ms %+7.3f %%  not hidden: %+.3f ms  %s\n", plan->name.c_str(),
              "by stage", static_cast<double>(comparison.median.plannedStep) / 1e6,
              100 * comparison.worstStep, worstExposedMs(plan, costs, run, steps),
              comparison.orderDeviation.c_str());
  std::fflush(stdout);
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  using namespace pipetrace;
  const auto number = [&](int index, int otherwise) {
    return argc > index ? std::atoi(argv[index]) : otherwise;
  };
  std::printf("%-24s %-9s %11s %10s  %s\n", "schedule", "costs", "a step", "off by",
              "began over 2 ms late");
  for (const std::string& name : scheduleNames()) {
    if (argc > 4 && name != argv[4] && std::string(argv[4]) != "all") continue;
    try {
      const CheckedPlan plan = buildSchedule(name, number(1, 8), number(2, 32));
      if (number(5, 1) > 1) {
        rowOfReplicas(*plan, number(5, 1), number(3, 2));
        continue;
      }
      for (const Kind& kind : kKinds) row(plan, kind, number(3, 2));
    } catch (const std::exception& error) {
      std::printf("%-24s %s\n", name.c_str(), error.what());
    }
  }
}
