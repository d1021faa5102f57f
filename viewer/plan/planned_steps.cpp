#include "viewer/plan/planned_steps.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/what_if/run_model.h"
#include "chart/text/cell_label.h"
#include "schedule/build_schedule.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

constexpr std::int32_t kShownStep = 2;  // of the five that a model simulates: in their middle

/// The jobs of a simulated step by position.
void takeStep(const Timeline& simulated, PlannedSteps& plan) {
  Nanoseconds first = kNsMax;
  Nanoseconds last = kNsMin;
  for (const Track& track : simulated.tracks) {
    if (track.lane != kComputeLane) continue;
    std::vector<PlannedJob> jobs;
    for (const Event& job : track.events) {
      if (!isCompute(job.kind) || job.step != kShownStep) continue;
      jobs.push_back({job.begin, job.end, job.kind, job.stage, job.microBatch, job.chunk});
      first = std::min(first, job.begin);
      last = std::max(last, job.end);
    }
    const auto position = static_cast<std::size_t>(track.rank);
    if (plan.positions.size() <= position) plan.positions.resize(position + 1);
    plan.positions[position] = std::move(jobs);
  }
  for (std::vector<PlannedJob>& jobs : plan.positions) {
    for (PlannedJob& job : jobs) {
      job.begin -= first;
      job.end -= first;
    }
  }
  plan.length = last > first ? last - first : 0;
}

/// The run again by the schedule that it follows, as far as that is known.
std::optional<RunModel::SimulatedRun> asPlanned(const Run& run, PlannedSteps& plan) {
  const RunModel model = RunModel::of(run);
  const FollowedSchedule& followed = run.schedule();
  if (!model.reason().empty()) {
    plan.problem = model.reason();
    return std::nullopt;
  }
  const bool isGivenKnown = !followed.given.empty() && isSchedule(followed.given) &&
                            !scheduleInfo(followed.given).dependsOnCosts;
  if (!model.schedule().empty() && (followed.isAsGiven() || !isGivenKnown)) {
    plan.schedule = model.schedule();
    plan.source = followed.isAsGiven() ? "the logs name it, and the order of the run is its order"
                                       : "the order of the run is its order";
    return model.run();
  }
  if (isGivenKnown) {
    plan.schedule = followed.given;
    plan.source = "the logs name it; the order of the run is another one";
  } else if (!followed.recognised.names.empty()) {
    plan.schedule = followed.recognised.names.front();
    plan.source = "the order of the run is like it";
  } else {
    plan.problem = "no schedule is known that has the order of the run";
    return std::nullopt;
  }
  return model.run({.schedule = plan.schedule});
}

using Key = std::tuple<JobKind, std::int32_t, std::int32_t>;

/// The positions in `values` of a longest ascending subsequence; kNone values are left out.
std::vector<bool> inLongestAscending(const std::vector<std::size_t>& values) {
  std::vector<std::size_t> tails;  // indices
  std::vector<std::size_t> before(values.size(), StepBesidePlan::kNone);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == StepBesidePlan::kNone) continue;
    const auto at =
        std::lower_bound(tails.begin(), tails.end(), values[i],
                         [&](std::size_t tail, std::size_t value) { return values[tail] < value; });
    if (at != tails.begin()) before[i] = *(at - 1);
    at == tails.end() ? tails.push_back(i) : static_cast<void>(*at = i);
  }
  std::vector<bool> isIn(values.size());
  for (std::size_t i = tails.empty() ? StepBesidePlan::kNone : tails.back();
       i != StepBesidePlan::kNone; i = before[i]) {
    isIn[i] = true;
  }
  return isIn;
}

void findTwins(const std::vector<PlannedJob>& planned,
               const std::map<std::int32_t, std::int32_t>& microBatches,
               StepBesidePlan::Rank& rank) {
  std::map<Key, std::vector<std::size_t>> places;
  for (std::size_t i = planned.size(); i-- > 0;) {
    places[{planned[i].kind, planned[i].stage, planned[i].microBatch}].push_back(i);
  }
  for (const EventSpot& spot : rank.jobs) {
    const Event& job = *spot.event;
    const auto number = microBatches.find(job.microBatch);
    const auto found =
        places.find({job.kind, job.stage, number == microBatches.end() ? -1 : number->second});
    if (found == places.end() || found->second.empty()) {
      rank.planned.push_back(StepBesidePlan::kNone);
      continue;
    }
    rank.planned.push_back(found->second.back());
    found->second.pop_back();
  }
  for (const auto& [key, left] : places) {
    rank.missing.insert(rank.missing.end(), left.begin(), left.end());
  }
  std::sort(rank.missing.begin(), rank.missing.end());
}

void findDeviations(const std::vector<PlannedJob>& planned, Nanoseconds begin,
                    const StepBesidePlan::Rank& rank, std::vector<Deviation>& deviations) {
  const std::vector<bool> isInOrder = inLongestAscending(rank.planned);
  Nanoseconds lateBefore = 0;  // of the job before
  for (std::size_t i = 0; i < rank.jobs.size(); ++i) {
    if (rank.planned[i] == StepBesidePlan::kNone) continue;
    const PlannedJob& twin = planned[rank.planned[i]];
    const Event& job = *rank.jobs[i].event;
    const Nanoseconds least = std::max<Nanoseconds>(twin.duration() / kLeastDeviation, 1);
    Deviation found{.job = rank.jobs[i], .planned = rank.planned[i], .place = i};
    if (!isInOrder[i]) {
      found.kind = DeviationKind::kOrder;
      deviations.push_back(found);
    }
    const Nanoseconds late = job.begin - begin - twin.begin;
    const Nanoseconds more = late - std::max<Nanoseconds>(lateBefore, 0);
    if (isInOrder[i] && late >= least && more >= least) {
      found.kind = DeviationKind::kLate;
      found.time = late;
      found.more = more;
      deviations.push_back(found);
    }
    const Nanoseconds longer = job.duration() - twin.duration();
    if (longer >= least) {
      found.kind = DeviationKind::kLong;
      found.time = longer;
      found.more = 0;
      deviations.push_back(found);
    }
    lateBefore = job.end - begin - twin.end;
  }
}

std::string nameOf(const ChartModel& model, const Event& job) {
  constexpr int kAnyWidth = 1 << 20;
  return cellLabel(model.timeline(), job, kAnyWidth, [](std::string_view) { return 1; });
}

std::string placeText(std::size_t place) { return std::to_string(place + 1) + "."; }

}  // namespace

PlannedSteps plannedStepsOf(const Run& run) {
  PlannedSteps plan;
  try {
    const auto simulated = asPlanned(run, plan);
    if (simulated) takeStep(simulated->timeline, plan);
  } catch (const std::exception& error) {
    plan.problem = error.what();
  }
  return plan;
}

const StepBesidePlan::Rank* StepBesidePlan::rankOf(std::size_t row) const {
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), row,
                                   [](const Rank& rank, std::size_t r) { return rank.row < r; });
  return at == ranks.end() || at->row != row ? nullptr : &*at;
}

StepBesidePlan besidePlan(const PlannedSteps& plan, const Run& run, const ChartModel& model,
                          const StepWindow& window) {
  StepBesidePlan beside{.step = window, .microBatches = {}, .ranks = {}, .deviations = {}};
  if (!plan.exists()) return beside;
  std::set<std::int32_t> numbers;
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    const ChartRow& lanes = model.rows()[row];
    const auto place = run.topology().places.find(lanes.rank);
    if (!lanes.isCompute || place == run.topology().places.end()) continue;
    if (place->second.replica != window.replica || place->second.position < 0) continue;
    const auto position = static_cast<std::size_t>(place->second.position);
    if (position >= plan.positions.size()) continue;
    StepBesidePlan::Rank rank{
        .row = row, .position = position, .jobs = {}, .planned = {}, .missing = {}};
    for (const LaneIndex& lane : lanes.lanes) {
      for (std::size_t i = lane.firstBeginningAt(window.begin); i < lane.size(); ++i) {
        if (lane.beginOf(i) >= window.end) break;
        const Event& job = lane[i];
        if (!isCompute(job.kind) || job.step != window.step) continue;
        rank.jobs.push_back({row, &job});
        numbers.insert(job.microBatch);
      }
    }
    std::stable_sort(rank.jobs.begin(), rank.jobs.end(),
                     [](const auto& a, const auto& b) { return a.event->begin < b.event->begin; });
    beside.ranks.push_back(std::move(rank));
  }
  std::map<std::int32_t, std::int32_t> microBatches;
  beside.microBatches.assign(numbers.begin(), numbers.end());
  for (const std::int32_t number : numbers) {
    microBatches.emplace(number, static_cast<std::int32_t>(microBatches.size()));
  }
  for (StepBesidePlan::Rank& rank : beside.ranks) {
    const std::vector<PlannedJob>& planned = plan.positions[rank.position];
    findTwins(planned, microBatches, rank);
    findDeviations(planned, window.begin, rank, beside.deviations);
  }
  std::stable_sort(beside.deviations.begin(), beside.deviations.end(),
                   [](const Deviation& a, const Deviation& b) {
                     const auto rank = [](const Deviation& d) {
                       const bool isOrder = d.kind == DeviationKind::kOrder;
                       return std::pair(!isOrder,
                                        -(d.kind == DeviationKind::kLate ? d.more : d.time));
                     };
                     return rank(a) < rank(b);
                   });
  return beside;
}

std::string textOf(const Deviation& deviation, const PlannedSteps& plan, const StepBesidePlan& step,
                   const ChartModel& model) {
  const StepBesidePlan::Rank& rank = *step.rankOf(deviation.job.row);
  const PlannedJob& twin = plan.positions[rank.position][deviation.planned];
  const std::string job = nameOf(model, *deviation.job.event) + " on rank " +
                          std::to_string(model.rows()[rank.row].rank);
  switch (deviation.kind) {
    case DeviationKind::kOrder:
      return job + " is the " + placeText(deviation.place) + " job of its rank, planned as the " +
             placeText(deviation.planned);
    case DeviationKind::kLate:
      return job + " begins " + formatDuration(deviation.time) + " later than planned" +
             (deviation.more == deviation.time
                  ? std::string()
                  : ", " + formatDuration(deviation.more) + " more than the job before it");
    default:
      return job + " lasts " + formatDuration(deviation.time) + " longer than the " +
             formatDuration(twin.duration()) + " of the plan";
  }
}

}  // namespace pipetrace
