#include "trace/step_windows.h"

#include <array>
#include <map>
#include <utility>

namespace pipetrace {
namespace {

/// Sets betweenSteps, otherPhases and isFollowed of the step at `i`, given the steps in the order
/// of begins.
void setPause(std::span<StepWindow*> steps, std::size_t i,
              std::span<const Nanoseconds> partBegins) {
  StepWindow& step = *steps[i];
  step.betweenSteps = 0;
  step.otherPhases = 0;
  step.isFollowed = false;
  std::size_t next = i + 1;
  Nanoseconds othersEnd = step.windowEnd;
  for (; next < steps.size() && steps[next]->phase != step.phase; ++next) {
    if (steps[next]->step != steps[next - 1]->last() + 1) return;  // some were not recorded
    othersEnd = std::max(othersEnd, steps[next]->end);
  }
  const bool follows = next < steps.size() && steps[next]->step == steps[next - 1]->last() + 1;
  if (!follows) return;
  const Nanoseconds begin = steps[next]->begin;
  if (partAt(partBegins, step.begin) != partAt(partBegins, begin)) return;
  if (next > i + 1) step.otherPhases = std::min(othersEnd, begin) - steps[i + 1]->begin;
  step.betweenSteps = begin - step.windowEnd - step.otherPhases;
  step.isFollowed = true;
}

}  // namespace

void cutWindows(std::span<StepWindow*> steps, std::span<const Nanoseconds> partBegins) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepWindow& step = *steps[i];
    step.windowEnd = i + 1 < steps.size() ? std::min(step.end, steps[i + 1]->begin) : step.end;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) setPause(steps, i, partBegins);
}

std::vector<StepWindow> stepWindows(const Timeline& timeline) {
  return stepWindows(timeline, topologyOf(timeline));
}

std::vector<StepWindow> stepWindows(const Timeline& timeline, const Topology& topology) {
  struct Replica {
    std::array<PerStep<StepTimes>, kPhaseCount> steps;  // by phase
    FullPipelines full;                                 // of its first rank
  };
  std::map<int, Replica> replicas;
  const auto& tracks = timeline.tracks;
  for (auto track = tracks.begin(); track != tracks.end();) {
    const int rank = track->rank;
    const auto place = topology.places.find(rank);
    std::array<PerStep<StepTimes>, kPhaseCount> ofRank;
    FullPipelines full;
    for (; track != tracks.end() && track->rank == rank; ++track) {
      if (place == topology.places.end()) continue;  // a rank that computes nothing
      for (const Event& event : track->events) {
        if (!isOfStep(event.kind) || event.step == kNotGiven) continue;
        ofRank[static_cast<std::size_t>(event.phase)][event.step].add(event);
        if (event.phase == Phase::kTraining) full[event.step].add(event);
      }
    }
    if (place == topology.places.end()) continue;
    Replica& replica = replicas[place->second.replica];
    if (place->second.position == 0) replica.full = std::move(full);
    for (std::size_t phase = 0; phase < ofRank.size(); ++phase) {
      for (const auto& [step, times] : ofRank[phase].take()) {
        replica.steps[phase][step].add(times);
      }
    }
  }
  const std::vector<Nanoseconds> partBegins = partBeginsOf(timeline);
  std::vector<StepWindow> windows;
  for (auto& [number, replica] : replicas) {
    std::array<std::vector<StepWindow>, kPhaseCount> ofPhase;
    bool isAsynchronous = false;
    for (std::size_t phase = 0; phase < ofPhase.size(); ++phase) {
      for (const auto& [step, times] : replica.steps[phase].take()) {
        if (!times.hasCompute) continue;
        isAsynchronous = isAsynchronous || (phase == 0 && times.isAsynchronous);
        ofPhase[phase].push_back({.step = step,
                                  .replica = number,
                                  .begin = times.begin,
                                  .end = times.end,
                                  .phase = static_cast<Phase>(phase)});
      }
    }
    auto& [training, others, predicts] = ofPhase;
    others.insert(others.end(), predicts.begin(), predicts.end());
    if (isAsynchronous) joinAsynchronousSteps(training, 0, replica.full, others, partBegins);
    std::vector<StepWindow*> all;
    for (StepWindow& step : training) all.push_back(&step);
    for (StepWindow& step : others) all.push_back(&step);
    cutWindows(all, partBegins);
    const auto first = static_cast<std::ptrdiff_t>(windows.size());
    windows.insert(windows.end(), training.begin(), training.end());
    windows.insert(windows.end(), others.begin(), others.end());
    std::stable_sort(windows.begin() + first, windows.end(),
                     [](const StepWindow& a, const StepWindow& b) { return a.step < b.step; });
  }
  return windows;
}

}  // namespace pipetrace
