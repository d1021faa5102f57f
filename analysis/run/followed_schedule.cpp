#include "analysis/run/followed_schedule.h"

#include <algorithm>
#include <utility>

#include "analysis/run/plans/measured_plan.h"
#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

/// A number for the order of a step's jobs on all ranks.
std::uint64_t orderOf(const JobGraph& graph, const StepJobs& jobs, std::size_t step) {
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t number) {
    hash = (hash ^ number) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  };
  for (std::size_t position = 0; position < jobs.rankCount(); ++position) {
    mix(position);
    for (const JobGraph::Id id : jobs.jobs(step, position)) {
      const JobGraph::Node& job = graph.node(id);
      mix(static_cast<std::uint64_t>(job.kind));
      mix(static_cast<std::uint32_t>(job.stage));
      mix(static_cast<std::uint32_t>(job.microBatch));
    }
  }
  return hash;
}

void addDeviations(const MeasuredPlan& measured, const Plan& reference, int replica,
                   std::int32_t step, FollowedSchedule& followed) {
  const PlanDeviations all = findDeviations(measured.plan, reference);
  for (const auto* const list : {&all.moved, &all.missing, &all.extra}) {
    for (const PlanDeviation& each : *list) {
      ++followed.deviationCount;
      if (followed.deviations.size() >= FollowedSchedule::kMostDeviations) continue;
      Action action = each.action;
      const auto microBatch = static_cast<std::size_t>(action.microBatch);
      if (microBatch < measured.microBatchNumbers.size()) {
        action.microBatch = measured.microBatchNumbers[microBatch];
      }
      followed.deviations.push_back(
          {.replica = replica,
           .step = step,
           .rank = measured.rankNumbers[static_cast<std::size_t>(each.rank)],
           .job = toText(action),
           .deviation = each});
    }
  }
}

std::string givenScheduleOf(const Timeline& timeline) {
  for (const auto& [rank, info] : timeline.ranks) {
    if (!info.schedule.empty()) return info.schedule;
  }
  return {};
}

/// Whether optimizer jobs between forwards say that steps have no flush.
bool hasUpdates(const RunBasis& basis) {
  const auto isAsynchronous = [](const PipelineBasis& pipeline) {
    return std::any_of(pipeline.windows.begin(), pipeline.windows.end(),
                       [](const BubbleWindow& window) { return window.isWholeRun; });
  };
  return std::any_of(basis.pipelines().begin(), basis.pipelines().end(), isAsynchronous);
}

}  // namespace

std::string FollowedSchedule::givenText() const {
  const std::string text = "the logs name " + given;
  if (!lacksUpdates) return text;
  return text + ", which has no flush, but no optimizer jobs between forwards show it";
}

bool FollowedSchedule::isAsGiven() const {
  if (recognised.names.empty()) return false;
  const std::string& name = recognised.names.front();
  return given == name || (isSchedule(given) && scheduleInfo(given).name == name);
}

FollowedSchedule followedSchedule(const Timeline& timeline, const Topology& topology,
                                  const RunBasis& basis) {
  FollowedSchedule followed;
  followed.given = givenScheduleOf(timeline);
  followed.lacksUpdates = isSchedule(followed.given) &&
                          scheduleInfo(followed.given).isAsynchronous && !hasUpdates(basis);
  if (basis.pipelines().empty() || basis.pipelines().front().windows.empty()) return followed;
  const PipelineBasis& first = basis.pipelines().front();
  const BubbleWindow* const window = &first.lastWholeWindow();
  followed.replica = first.replica;
  followed.step = window->step;
  const MeasuredPlan measured = measuredPlan(timeline, topology, first.replica, window->step);
  followed.problem = measured.problem;
  followed.countsMicroBatches = measured.countsMicroBatches;
  if (!measured.exists()) return followed;
  if (hasSharedStages(measured.plan)) {
    followed.ranksOfStage = measured.plan.placement.ranksOfStage;
  }
  followed.recognised = recogniseSchedule(measured.plan);
  if (followed.recognised.names.empty()) return followed;
  const Plan& reference = followed.recognised.plan;
  addDeviations(measured, reference, first.replica, window->step, followed);

  constexpr int kMostSteps = 16;
  const std::uint64_t order = orderOf(basis.graph(), first.jobs, window->index);
  int compared = 0;
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    for (const BubbleWindow& each : pipeline.windows) {
      const bool isSame = &each == window || !each.isWhole ||
                          orderOf(basis.graph(), pipeline.jobs, each.index) == order;
      if (isSame || compared++ >= kMostSteps) continue;
      const MeasuredPlan other = measuredPlan(timeline, topology, pipeline.replica, each.step);
      if (!other.exists()) continue;
      addDeviations(other, reference, pipeline.replica, each.step, followed);
    }
  }
  return followed;
}

}  // namespace pipetrace
