#include "viewer/run/bubble_ratios.h"

namespace pipetrace {

std::map<std::int32_t, double> bubbleRatiosOf(const RunSummary& summary) {
  struct Times {
    double busy = 0;
    double idle = 0;
  };
  std::map<std::int32_t, Times> steps;
  for (const StepSummary& step : summary.steps) {
    Times& times = steps[step.step];
    for (const RankStep& rank : step.ranks) {
      times.busy += static_cast<double>(rank.busy);
      times.idle += static_cast<double>(rank.idle);
    }
  }
  std::map<std::int32_t, double> ratios;
  for (const auto& [step, times] : steps) {
    if (times.busy + times.idle > 0) ratios[step] = times.idle / (times.busy + times.idle);
  }
  return ratios;
}

}  // namespace pipetrace
