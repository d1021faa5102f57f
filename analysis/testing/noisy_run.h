#pragma once

#include <random>

#include "analysis/testing/faulty_run.h"

namespace pipetrace::test {

/// A completed run whose jobs are up to 4 % longer, each by itself. `seed`: of the lengths.
inline Timeline noisyRun(const Plan& plan, Costs costs, int steps, unsigned seed) {
  std::mt19937_64 random(seed);
  for (const auto& actions : plan.ranks) {
    for (const Action& action : actions) {
      if (isTransfer(action.kind)) continue;
      for (int step = 0; step < steps; ++step) {
        costs.faults.jobs.push_back({.action = action,
                                     .step = step,
                                     .longer = static_cast<Nanoseconds>(random() % 400'000)});
      }
    }
  }
  return completedRun(plan, costs, steps);
}

}  // namespace pipetrace::test
