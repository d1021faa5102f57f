#include "apps/pipe_run/plan_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/median.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

/// A step of all replicas: from the first begin to the last end, and the idle share of their
/// windows.
struct StepOfAll {
  Nanoseconds begin = kNsMax;
  Nanoseconds end = kNsMin;
  Nanoseconds busy = 0;
  Nanoseconds idle = 0;

  double bubbleRatio() const {
    const Nanoseconds all = busy + idle;
    return all == 0 ? 0 : static_cast<double>(idle) / static_cast<double>(all);
  }
};

std::map<int, StepOfAll> stepsOf(const RunSummary& run) {
  std::map<int, StepOfAll> steps;
  for (const StepSummary& of : run.steps) {
    StepOfAll& step = steps[of.step];
    step.begin = std::min(step.begin, of.begin);
    step.end = std::max(step.end, of.end);
    for (const RankStep& rank : of.ranks) {
      step.busy += rank.busy;
      step.idle += rank.idle;
    }
  }
  return steps;
}

/// The steps of the run beside those of the simulation, by number.
std::map<int, ComparedStep> stepsOf(const RunSummary& run, const RunSummary& plan) {
  std::map<int, ComparedStep> steps;
  const std::map<int, StepOfAll> planned = stepsOf(plan);
  auto beside = planned.begin();
  for (const auto& [number, measured] : stepsOf(run)) {
    if (beside == planned.end()) break;
    steps[number] = {.measuredStep = measured.end - measured.begin,
                     .plannedStep = beside->second.end - beside->second.begin,
                     .measuredBubble = measured.bubbleRatio(),
                     .plannedBubble = beside->second.bubbleRatio()};
    ++beside;
  }
  return steps;
}

template <typename T>
T medianFigure(const std::map<int, ComparedStep>& steps, T ComparedStep::*figure) {
  std::vector<T> values;
  for (const auto& [number, step] : steps) values.push_back(step.*figure);
  return medianOf(values);
}

ComparedStep medianStepOf(const std::map<int, ComparedStep>& steps) {
  return {.measuredStep = medianFigure(steps, &ComparedStep::measuredStep),
          .plannedStep = medianFigure(steps, &ComparedStep::plannedStep),
          .measuredBubble = medianFigure(steps, &ComparedStep::measuredBubble),
          .plannedBubble = medianFigure(steps, &ComparedStep::plannedBubble)};
}

/// Takes the steps with faults of their own out of `steps`, and those that these hold up.
std::map<int, ComparedStep> takeApart(std::map<int, ComparedStep>& steps, const Faults& faults) {
  std::map<int, ComparedStep> apart;
  for (const Faults::Job& job : faults.jobs) {
    if (auto found = steps.extract(job.step)) apart.insert(std::move(found));
  }
  if (apart.empty() || steps.empty()) return apart;
  std::vector<Nanoseconds> planned;
  for (const auto& [number, step] : steps) planned.push_back(step.plannedStep);
  const Nanoseconds usual = lowerMedianOf(planned);
  for (auto step = steps.begin(); step != steps.end();) {
    const auto next = std::next(step);
    if (step->second.plannedStep != usual) apart.insert(steps.extract(step));
    step = next;
  }
  return apart;
}

std::vector<const Event*> workOf(const Track& track) {
  std::vector<const Event*> jobs;
  for (const Event& event : track.events) {
    if (isCompute(event.kind)) jobs.push_back(&event);
  }
  return jobs;
}

/// The compute actions of a rank; sends and receives are in other lanes, and data-parallel actions
/// are not run.
std::vector<Action> workOf(std::vector<Action> actions) {
  std::erase_if(actions, [](const Action& action) { return !isCompute(action.kind); });
  return actions;
}

/// A fused pair's event has its forward.
bool isOf(const Event& job, const Action& action) {
  return job.kind == action.kind && job.stage == action.stage &&
         job.microBatch == action.microBatch && job.part == action.part;
}

std::string cell(const Event& job) {
  if (job.kind == JobKind::kForwardBackward) {
    return fmt::format("the pair of {}F{}", job.stage, job.microBatch);
  }
  return toText(
      Action{.kind = job.kind, .stage = job.stage, .microBatch = job.microBatch, .part = job.part});
}

std::string orderDeviationOf(const Track& track, const std::vector<Action>& row) {
  const std::vector<const Event*> jobs = workOf(track);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Action& planned = row[i % row.size()];
    if (isOf(*jobs[i], planned)) continue;
    return fmt::format("rank {}, step {}: {} ran where the plan has {}", track.rank, jobs[i]->step,
                       cell(*jobs[i]), toText(planned));
  }
  if (jobs.size() % row.size() == 0) return "";
  return fmt::format("rank {} ran {} jobs, which are no whole steps of {}", track.rank, jobs.size(),
                     row.size());
}

std::string orderDeviation(const Timeline& run, const Plan& plan) {
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const Track* const track = run.findTrack(rank, kComputeLane);
    if (track == nullptr) return fmt::format("rank {} ran nothing", rank);
    std::vector<Action> row = workOf(plan.ranks[static_cast<std::size_t>(rank)]);
    for (Action& action : row) action = plan.inReplica(action);
    std::string deviation = orderDeviationOf(*track, row);
    if (!deviation.empty()) return deviation;
  }
  return "";
}

/// The steps that any rank has begun.
int stepsIn(const Timeline& run) {
  std::set<std::int32_t> steps;
  for (const Track& track : run.tracks) {
    for (const Event& event : track.events) {
      if (isCompute(event.kind)) steps.insert(event.step);
    }
  }
  return static_cast<int>(steps.size());
}

/// A share in percent, with its sign and two decimals. No negative zero.
std::string signedPercent(double share) {
  constexpr double kDecimals = 1e4;
  return fmt::format("{:+.2f}", std::round(share * kDecimals) / (kDecimals / 100) + 0.0);
}

std::string stepOffBy(const ComparedStep& step) {
  const double deviation = step.stepDeviation();
  if (std::isfinite(deviation)) return signedPercent(deviation) + " %";
  return "+" + formatDuration(step.measuredStep - step.plannedStep);
}

std::string bubbleOffBy(const ComparedStep& step) {
  return signedPercent(step.bubbleDifference()) + " points";
}

void addFindings(const ComparedStep& step, const std::string& which, double tolerance,
                 std::vector<std::string>& found) {
  if (std::abs(step.stepDeviation()) > tolerance) {
    found.push_back(fmt::format("the step length{} is off the plan by {}; up to {:g} % are fine",
                                which, stepOffBy(step), 100 * tolerance));
  }
  if (std::abs(step.bubbleDifference()) > tolerance) {
    found.push_back(fmt::format("the bubble ratio{} is off the plan by {}; up to {:g} are fine",
                                which, bubbleOffBy(step), 100 * tolerance));
  }
}

/// The most steps that are listed one by one.
constexpr std::size_t kMostRows = 10;

std::string rowsOf(const ComparedStep& step, const std::string& length, const std::string& bubble,
                   std::size_t width) {
  return fmt::format("{:<{}}{:>12}{:>12}{:>15}\n", length, width, formatDuration(step.measuredStep),
                     formatDuration(step.plannedStep), stepOffBy(step)) +
         fmt::format("{:<{}}{:>12.4f}{:>12.4f}{:>15}\n", bubble, width, step.measuredBubble,
                     step.plannedBubble, bubbleOffBy(step));
}

/// "median of 4 steps, without step 2"
std::string countedSteps(const PlanComparison& comparison) {
  if (comparison.steps == 0) return "each step by itself";
  std::string text = comparison.steps == 1 ? std::string("one step")
                                           : fmt::format("median of {} steps", comparison.steps);
  const char* separator = comparison.apart.size() == 1 ? ", without step " : ", without steps ";
  std::size_t listed = 0;
  for (const auto& [number, step] : comparison.apart) {
    if (listed++ == kMostRows) return text + " ...";
    text += fmt::format("{}{}", separator, number);
    separator = ", ";
  }
  return text;
}

}  // namespace

double ComparedStep::stepDeviation() const {
  if (measuredStep == plannedStep) return 0;
  if (plannedStep == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(measuredStep) / static_cast<double>(plannedStep) - 1;
}

double ComparedStep::bubbleDifference() const { return measuredBubble - plannedBubble; }

std::vector<std::string> PlanComparison::findings(double tolerance) const {
  std::vector<std::string> found;
  if (steps > 0) addFindings(median, "", tolerance, found);
  for (const auto& [number, step] : apart) {
    addFindings(step, fmt::format(" of step {}", number), tolerance, found);
  }
  if (!orderDeviation.empty()) found.push_back("not the order of the plan: " + orderDeviation);
  return found;
}

PlanComparison compareWithPlan(const Run& run, const CheckedPlan& plan, const Costs& costs,
                               CommStreams commStreams) {
  const RunSummary& measured = run.summary();
  if (measured.steps.empty()) throw Error("the run holds no step to compare with its plan");
  // In an asynchronous plan all steps together are one.
  const int count = stepsIn(run.timeline());
  Costs planned = costs;
  // Updates that take no time are missing in a simulated timeline, which shows by them that its
  // steps are one.
  if (plan->isAsynchronous()) planned.optimizer = std::max<Nanoseconds>(costs.optimizer, 1);
  const Run simulated(
      simulate(plan, planned, {.steps = count, .commStreams = commStreams}).timeline);
  std::map<int, ComparedStep> steps = stepsOf(measured, simulated.summary());
  PlanComparison comparison{.orderDeviation = orderDeviation(run.timeline(), *plan)};
  for (const auto& [number, step] : steps) {
    const double deviation = step.stepDeviation();
    if (std::abs(deviation) > std::abs(comparison.worstStep)) comparison.worstStep = deviation;
  }
  if (steps.size() > 1) comparison.apart = takeApart(steps, costs.faults);
  comparison.steps = static_cast<int>(steps.size());
  if (!steps.empty()) comparison.median = medianStepOf(steps);
  for (const auto& [rank, info] : run.timeline().ranks) comparison.lateStarts += info.lateStarts;
  return comparison;
}

std::string toText(const PlanComparison& comparison) {
  const std::size_t width = comparison.apart.empty() ? 14 : 22;
  std::string text =
      fmt::format("{:<{}}{:>12}{:>12}{:>15}\n", "", width, "measured", "planned", "off by");
  if (comparison.steps > 0) {
    text += rowsOf(comparison.median, "step length", "bubble ratio", width);
  }
  std::size_t listed = 0;
  for (const auto& [number, step] : comparison.apart) {
    if (listed++ == kMostRows) {
      text += fmt::format("and {} more steps\n", comparison.apart.size() - kMostRows);
      break;
    }
    text += rowsOf(step, fmt::format("step {} length", number),
                   fmt::format("step {} bubble ratio", number), width);
  }
  text += fmt::format("{}; jobs that began more than 0.2 ms late: {}\n", countedSteps(comparison),
                      comparison.lateStarts);
  text += comparison.orderDeviation.empty()
              ? "every rank ran its jobs in the order of the plan\n"
              : "not the order of the plan: " + comparison.orderDeviation + "\n";
  return text;
}

}  // namespace pipetrace
