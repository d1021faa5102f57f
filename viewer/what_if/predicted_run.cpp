#include "viewer/what_if/predicted_run.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace pipetrace {
namespace {

/// When the steps of a timeline begin, by their numbers.
std::unordered_map<std::int32_t, Nanoseconds> beginsOf(const std::vector<StepSpan>& steps) {
  std::unordered_map<std::int32_t, Nanoseconds> begins;
  for (const StepSpan& step : steps) begins.try_emplace(step.step, step.begin);
  return begins;
}

/// A job of a step, whichever rank has it.
struct JobKey {
  std::int32_t stage = 0;
  std::int32_t microBatch = 0;
  std::int16_t part = 0;
  JobKind kind = JobKind::kOther;

  bool operator==(const JobKey&) const = default;
};

struct JobKeyHash {
  std::size_t operator()(const JobKey& key) const {
    std::size_t hash = static_cast<std::size_t>(key.stage);
    hash = hash * 1'000'003 + static_cast<std::size_t>(key.microBatch);
    hash = hash * 31 + static_cast<std::size_t>(key.part);
    return hash * 31 + static_cast<std::size_t>(key.kind);
  }
};

JobKey keyOf(const Event& job) { return {job.stage, job.microBatch, job.part, job.kind}; }

const std::vector<MovedJob> kNothing;

}  // namespace

PredictedRun::PredictedRun(Run run, bool withBubbles) : run_(std::move(run)) {
  if (withBubbles && !run_.summary().steps.empty()) run_.join(run_.bubbleLanes());
  model_ = std::make_unique<ChartModel>(run_.timeline(), run_.topology());
}

void PredictedRun::keepMoved(int rank, std::vector<MovedJob> moved, Nanoseconds step) {
  const auto least = static_cast<Nanoseconds>(static_cast<double>(step) * kLeastMove);
  std::erase_if(moved, [&](const MovedJob& job) { return std::abs(job.later) <= least; });
  for (const MovedJob& job : moved) mostMoved_ = std::max(mostMoved_, std::abs(job.later));
  if (!moved.empty()) moved_[rank] = std::move(moved);
}

void PredictedRun::compareWith(const Timeline& measured, const std::vector<StepSpan>& measuredSteps,
                               bool isOfPlan, std::int32_t step) {
  isOfPlan_ = isOfPlan;
  const auto before = beginsOf(measuredSteps);
  const auto after = beginsOf(model_->steps());
  const auto since = [](const auto& begins, std::int32_t of, Nanoseconds time) {
    const auto begin = begins.find(of);
    return begin == begins.end() ? time : time - begin->second;
  };
  std::unordered_map<JobKey, Nanoseconds, JobKeyHash> ofStep;  // since the step's begin
  if (isOfPlan) {
    for (const Track& track : measured.tracks) {
      if (track.lane != kComputeLane) continue;
      for (const Event& job : track.events) {
        if (job.step == step && isCompute(job.kind)) {
          ofStep.try_emplace(keyOf(job), since(before, step, job.begin));
        }
      }
    }
  }
  for (const Track& track : run_.timeline().tracks) {
    if (track.lane != kComputeLane) continue;
    std::vector<MovedJob> moved;
    const Track* const own = isOfPlan ? nullptr : measured.findTrack(track.rank, track.lane);
    if (!isOfPlan && (own == nullptr || own->events.size() != track.events.size())) continue;
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      const Event& job = track.events[i];
      if (!isCompute(job.kind)) continue;
      const Nanoseconds begins = since(after, job.step, job.begin);
      if (isOfPlan) {
        const auto found = ofStep.find(keyOf(job));
        if (found != ofStep.end()) moved.push_back({job.begin, job.end, begins - found->second});
      } else if (keyOf(own->events[i]) == keyOf(job)) {
        moved.push_back(
            {job.begin, job.end, begins - since(before, job.step, own->events[i].begin)});
      }
    }
    keepMoved(track.rank, std::move(moved), model_->medianStep());
  }
}

const std::vector<MovedJob>& PredictedRun::movedOf(int rank) const {
  const auto found = moved_.find(rank);
  return found == moved_.end() ? kNothing : found->second;
}

std::size_t PredictedRun::movedCount() const {
  std::size_t count = 0;
  for (const auto& [rank, moved] : moved_) count += moved.size();
  return count;
}

Nanoseconds PredictedRun::beginBeside(std::int32_t measuredStep) const {
  const std::vector<StepSpan>& steps = model_->steps();
  if (steps.empty()) return model_->span().begin;
  if (isOfPlan_) return steps[steps.size() / 2].begin;
  const auto same = std::find_if(steps.begin(), steps.end(),
                                 [&](const StepSpan& step) { return step.step == measuredStep; });
  return same == steps.end() ? steps.front().begin : same->begin;
}

}  // namespace pipetrace
