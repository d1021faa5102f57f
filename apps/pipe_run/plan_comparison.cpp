#include "apps/pipe_run/plan_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analysis/run_summary.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

template <typename T>
T median(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

struct StepFigures {
  Nanoseconds length = 0;
  double bubble = 0;
  int steps = 0;
};

StepFigures figuresOf(const Timeline& timeline) {
  std::vector<Nanoseconds> lengths;
  std::vector<double> bubbles;
  for (const StepSummary& step : summarize(timeline).steps) {
    lengths.push_back(step.duration());
    bubbles.push_back(step.bubbleRatio);
  }
  if (lengths.empty()) throw Error("the run holds no step to compare with its plan");
  const int steps = static_cast<int>(lengths.size());
  return {median(std::move(lengths)), median(std::move(bubbles)), steps};
}

std::vector<const Event*> workOf(const Track& track) {
  std::vector<const Event*> jobs;
  for (const Event& event : track.events) {
    if (isCompute(event.kind)) jobs.push_back(&event);
  }
  return jobs;
}

std::string cell(const Event& job) {
  return toText(Action{.kind = job.kind, .stage = job.stage, .microBatch = job.microBatch});
}

std::string orderDeviationOf(const Track& track, const std::vector<Action>& row) {
  const std::vector<const Event*> jobs = workOf(track);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string planned = toText(row[i % row.size()]);
    if (cell(*jobs[i]) == planned) continue;
    return fmt::format("rank {}, step {}: {} ran where the plan has {}", track.rank, jobs[i]->step,
                       cell(*jobs[i]), planned);
  }
  if (jobs.size() % row.size() == 0) return "";
  return fmt::format("rank {} ran {} jobs, which are no whole steps of {}", track.rank, jobs.size(),
                     row.size());
}

std::string orderDeviation(const Timeline& run, const Plan& plan) {
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const Track* const track = run.findTrack(rank, kComputeLane);
    if (track == nullptr) return fmt::format("rank {} ran nothing", rank);
    std::string deviation = orderDeviationOf(*track, plan.ranks[static_cast<std::size_t>(rank)]);
    if (!deviation.empty()) return deviation;
  }
  return "";
}

/// A share in percent, with its sign and two decimals. No negative zero.
std::string signedPercent(double share) {
  constexpr double kDecimals = 1e4;
  return fmt::format("{:+.2f}", std::round(share * kDecimals) / (kDecimals / 100) + 0.0);
}

std::string stepOffBy(const PlanComparison& comparison) {
  const double deviation = comparison.stepDeviation();
  if (std::isfinite(deviation)) return signedPercent(deviation) + " %";
  return "+" + formatDuration(comparison.measuredStep - comparison.plannedStep);
}

std::string bubbleOffBy(const PlanComparison& comparison) {
  return signedPercent(comparison.bubbleDifference()) + " points";
}

}  // namespace

double PlanComparison::stepDeviation() const {
  if (measuredStep == plannedStep) return 0;
  if (plannedStep == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(measuredStep) / static_cast<double>(plannedStep) - 1;
}

double PlanComparison::bubbleDifference() const { return measuredBubble - plannedBubble; }

std::vector<std::string> PlanComparison::findings(double tolerance) const {
  std::vector<std::string> found;
  if (std::abs(stepDeviation()) > tolerance) {
    found.push_back(fmt::format("the step length is off the plan by {}; up to {:g} % are fine",
                                stepOffBy(*this), 100 * tolerance));
  }
  if (std::abs(bubbleDifference()) > tolerance) {
    found.push_back(fmt::format("the bubble ratio is off the plan by {}; up to {:g} are fine",
                                bubbleOffBy(*this), 100 * tolerance));
  }
  if (!orderDeviation.empty()) found.push_back("not the order of the plan: " + orderDeviation);
  return found;
}

PlanComparison compareWithPlan(const Timeline& run, const CheckedPlan& plan, const Costs& costs) {
  const StepFigures measured = figuresOf(run);
  const StepFigures planned = figuresOf(simulate(plan, costs, {.steps = measured.steps}).timeline);
  PlanComparison comparison{.steps = measured.steps,
                            .measuredStep = measured.length,
                            .plannedStep = planned.length,
                            .measuredBubble = measured.bubble,
                            .plannedBubble = planned.bubble,
                            .orderDeviation = orderDeviation(run, *plan)};
  for (const auto& [rank, info] : run.ranks) comparison.lateStarts += info.lateStarts;
  return comparison;
}

std::string toText(const PlanComparison& comparison) {
  std::string text = fmt::format("{:<14}{:>12}{:>12}{:>15}\n", "", "measured", "planned", "off by");
  text += fmt::format("{:<14}{:>12}{:>12}{:>15}\n", "step length",
                      formatDuration(comparison.measuredStep),
                      formatDuration(comparison.plannedStep), stepOffBy(comparison));
  text += fmt::format("{:<14}{:>12.4f}{:>12.4f}{:>15}\n", "bubble ratio", comparison.measuredBubble,
                      comparison.plannedBubble, bubbleOffBy(comparison));
  text += fmt::format("{}; jobs that began more than 0.2 ms late: {}\n",
                      comparison.steps == 1 ? std::string("one step")
                                            : fmt::format("median of {} steps", comparison.steps),
                      comparison.lateStarts);
  text += comparison.orderDeviation.empty()
              ? "every rank ran its jobs in the order of the plan\n"
              : "not the order of the plan: " + comparison.orderDeviation + "\n";
  return text;
}

}  // namespace pipetrace
