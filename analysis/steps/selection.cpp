#include "analysis/steps/selection.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analysis/steps/skipped_types.h"

namespace pipetrace {
namespace {

template <typename Keep>
void keepEvents(Timeline& timeline, const Keep& keep) {
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [&](const Event& event) { return !keep(event); });
  }
  std::erase_if(timeline.tracks, [](const Track& track) { return track.events.empty(); });
}

double share(Nanoseconds part, double whole) {
  return whole > 0 ? static_cast<double>(part) / whole : 0.0;
}

void sumUp(RunSummary& summary) {
  std::map<int, RankSummary> ranks;
  for (const RankSummary& rank : summary.ranks) {
    ranks[rank.rank] = {.rank = rank.rank, .replica = rank.replica};
  }
  double idle = 0;
  double whole = 0;
  for (StepSummary& step : summary.steps) {
    Nanoseconds idleOfStep = 0;
    for (const RankStep& rank : step.ranks) {
      ranks[rank.rank].busy += rank.busy;
      ranks[rank.rank].idle += rank.idle;
      idleOfStep += rank.idle;
    }
    const double ofStep = static_cast<double>(step.window()) * std::ssize(step.ranks);
    step.bubbleRatio = share(idleOfStep, ofStep);
    idle += static_cast<double>(idleOfStep);
    whole += ofStep;
  }
  summary.bubbleRatio = whole > 0 ? idle / whole : 0.0;
  for (RankSummary& rank : summary.ranks) {
    rank = ranks.at(rank.rank);
    rank.bubbleRatio = share(rank.idle, static_cast<double>(rank.busy) + rank.idle);
  }
}

}  // namespace

Timeline withSteps(Timeline timeline, const std::vector<NumberRange>& steps) {
  keepEvents(timeline, [&](const Event& event) { return isIn(steps, event.step); });
  const std::vector<CounterSeries> counters = std::exchange(timeline.counters, {});
  const Timeline::Span span = timeline.span();
  timeline.counters = counters;
  for (CounterSeries& series : timeline.counters) {
    std::erase_if(series.samples, [&](const CounterSample& sample) {
      return sample.time < span.begin || sample.time > span.end;
    });
  }
  return timeline;
}

Timeline inPhaseOf(const std::vector<NumberRange>& steps, Timeline timeline) {
  if (steps.empty()) return timeline;
  std::optional<Phase> chosen;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCompute(event.kind) || !isIn(steps, event.step)) continue;
      if (!chosen || event.phase < *chosen) chosen = event.phase;
      if (event.phase == Phase::kTraining) return timeline;
    }
  }
  if (!chosen || *chosen == countedPhaseOf(timeline)) return timeline;
  keepEvents(timeline, [&](const Event& event) { return event.phase == *chosen; });
  return timeline;
}

Timeline withRanks(Timeline timeline, const std::vector<NumberRange>& ranks) {
  std::erase_if(timeline.tracks, [&](const Track& track) { return !isIn(ranks, track.rank); });
  std::erase_if(timeline.counters,
                [&](const CounterSeries& series) { return !isIn(ranks, series.rank); });
  const std::size_t outside =
      std::erase_if(timeline.ranks, [&](const auto& rank) { return !isIn(ranks, rank.first); });
  if (outside == 0) return timeline;
  for (auto& [rank, info] : timeline.ranks) info.isSelected = true;
  return timeline;
}

Timeline withoutTypes(Timeline timeline, const std::vector<std::string>& types) {
  const SkippedTypes skipped(types, timeline.strings);
  keepEvents(timeline, [&](const Event& event) { return !skipped.has(event); });
  return timeline;
}

Timeline selected(Timeline timeline, const Selection& selection) {
  if (!selection.steps.empty()) timeline = withSteps(std::move(timeline), selection.steps);
  if (!selection.ranks.empty()) timeline = withRanks(std::move(timeline), selection.ranks);
  if (!selection.skippedTypes.empty()) {
    timeline = withoutTypes(std::move(timeline), selection.skippedTypes);
  }
  return timeline;
}

RunSummary selected(RunSummary summary, const Selection& selection) {
  if (selection.steps.empty() && selection.ranks.empty()) return summary;
  std::erase_if(summary.steps, [&](StepSummary& step) {
    std::erase_if(step.ranks,
                  [&](const RankStep& rank) { return !selection.wantsRank(rank.rank); });
    return !selection.wantsStep(step.step) || step.ranks.empty();
  });
  std::erase_if(summary.otherSteps,
                [&](const StepWindow& step) { return !selection.wantsStep(step.step); });
  std::erase_if(summary.ranks,
                [&](const RankSummary& rank) { return !selection.wantsRank(rank.rank); });
  std::erase_if(summary.deviceWork, [&](const StageDeviceWork& work) {
    return !selection.wantsStep(work.step) || !selection.wantsRank(work.rank);
  });
  sumUp(summary);
  return summary;
}

}  // namespace pipetrace
