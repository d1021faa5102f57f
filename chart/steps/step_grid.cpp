#include "chart/steps/step_grid.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "chart/steps/step_span.h"
#include "trace/step_windows.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

/// A stretch of a rank's time with one job, or one bubble.
struct Stretch {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::size_t index = 0;  // of the kind, or of the class
};

/// Stretches in the order of their begins. Cuts off what an earlier one covers.
std::vector<Stretch> withoutOverlaps(std::vector<Stretch> stretches) {
  const auto isEarlier = [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; };
  if (!std::is_sorted(stretches.begin(), stretches.end(), isEarlier)) {
    std::stable_sort(stretches.begin(), stretches.end(), isEarlier);
  }
  Nanoseconds coveredUpTo = kNsMin;
  for (Stretch& stretch : stretches) {
    stretch.begin = std::max(stretch.begin, coveredUpTo);
    stretch.end = std::max(stretch.begin, stretch.end);
    coveredUpTo = stretch.end;
  }
  return stretches;
}

/// The compute jobs and the bubbles of one rank.
struct RankTime {
  std::vector<Stretch> jobs;
  std::vector<Stretch> bubbles;
};

RankTime timeOf(std::span<const Track> tracks) {
  RankTime time;
  for (const Track& track : tracks) {
    for (const Event& event : track.events) {
      if (isCompute(event.kind)) {
        time.jobs.push_back({event.begin, event.end, static_cast<std::size_t>(event.kind)});
      } else if (event.kind == JobKind::kBubble) {
        time.bubbles.push_back(
            {event.begin, event.end, static_cast<std::size_t>(event.bubbleClass)});
      }
    }
  }
  time.jobs = withoutOverlaps(std::move(time.jobs));
  time.bubbles = withoutOverlaps(std::move(time.bubbles));
  return time;
}

/// Adds the parts of `stretches` that lie in a window to `sums`. Windows must come in the order of
/// time: `from` is the first stretch that may reach into the window.
template <typename Sums>
void addPartsIn(const StepWindow& window, const std::vector<Stretch>& stretches, std::size_t& from,
                Sums& sums) {
  while (from < stretches.size() && stretches[from].end <= window.begin) ++from;
  for (std::size_t i = from; i < stretches.size() && stretches[i].begin < window.windowEnd; ++i) {
    const Nanoseconds begin = std::max(stretches[i].begin, window.begin);
    const Nanoseconds end = std::min(stretches[i].end, window.windowEnd);
    if (end > begin) sums[stretches[i].index] += end - begin;
  }
}

/// Where a step goes in the table.
using ColumnOfStep = std::map<std::int32_t, std::size_t>;

ColumnOfStep addColumns(StepGrid& grid, const std::vector<StepWindow>& windows, int stepsAColumn) {
  ColumnOfStep columnOf;
  for (const StepSpan& step : stepSpans(windows)) {
    if (grid.columns.empty() || grid.columns.back().steps == stepsAColumn) {
      grid.columns.push_back({.first = step.step, .last = step.step});
    }
    StepGrid::Column& column = grid.columns.back();
    column.first = std::min(column.first, step.step);
    column.last = std::max(column.last, step.step);
    ++column.steps;
    columnOf[step.step] = grid.columns.size() - 1;
  }
  return columnOf;
}

void addDurations(StepGrid& grid, const std::vector<StepWindow>& windows,
                  const ColumnOfStep& columnOf) {
  std::map<std::int32_t, Nanoseconds> durations;  // over all replicas
  for (const StepWindow& window : windows) {
    Nanoseconds& duration = durations[window.step];
    duration = std::max(duration, window.duration());
  }
  for (const auto& [step, duration] : durations) {
    StepGrid::Column& column = grid.columns[columnOf.at(step)];
    column.longest = std::max(column.longest, duration);
    column.meanDuration += static_cast<double>(duration) / column.steps;
  }
}

/// Adds the shares of the last of the grid's ranks.
void addRank(StepGrid& grid, const ColumnOfStep& columnOf, const std::vector<StepWindow>& windows,
             int replica, const RankTime& time) {
  std::size_t job = 0;
  std::size_t bubble = 0;
  for (const StepWindow& window : windows) {
    if (window.replica != replica) continue;
    StepShares ofStep;
    ofStep.window = window.window();
    addPartsIn(window, time.jobs, job, ofStep.busy);
    addPartsIn(window, time.bubbles, bubble, ofStep.idle);
    const Nanoseconds idle = ofStep.window - ofStep.busyTime();
    Nanoseconds covered = std::accumulate(ofStep.idle.begin(), ofStep.idle.end(), Nanoseconds{0});
    if (covered > idle) {  // these bubbles are of other windows
      ofStep.idle = {};
      covered = 0;
    }
    // Idle time without a bubble, as in a profile that was written without them.
    ofStep.idle[static_cast<std::size_t>(BubbleClass::kNone)] += idle - covered;
    grid.columns[columnOf.at(window.step)].ranks.back() += ofStep;
  }
}

}  // namespace

Nanoseconds StepShares::busyTime() const {
  return std::accumulate(busy.begin(), busy.end(), Nanoseconds{0});
}

double StepShares::bubbleRatio() const {
  if (window <= 0) return 0;
  return static_cast<double>(window - busyTime()) / static_cast<double>(window);
}

StepShares& StepShares::operator+=(const StepShares& other) {
  for (std::size_t i = 0; i < busy.size(); ++i) busy[i] += other.busy[i];
  for (std::size_t i = 0; i < idle.size(); ++i) idle[i] += other.idle[i];
  window += other.window;
  return *this;
}

StepGrid stepGridOf(const Timeline& timeline, int stepsAColumn) {
  StepGrid grid;
  const Topology topology = topologyOf(timeline);
  std::vector<StepWindow> windows = stepWindows(timeline, topology);
  const Phase phase = countedPhaseOf(timeline);
  std::erase_if(windows, [&](const StepWindow& window) { return window.phase != phase; });
  const ColumnOfStep columnOf = addColumns(grid, windows, stepsAColumn);
  addDurations(grid, windows, columnOf);
  std::stable_sort(windows.begin(), windows.end(),
                   [](const StepWindow& a, const StepWindow& b) { return a.begin < b.begin; });
  const std::span<const Track> tracks = timeline.tracks;
  for (std::size_t first = 0; first < tracks.size();) {
    std::size_t last = first + 1;
    while (last < tracks.size() && tracks[last].rank == tracks[first].rank) ++last;
    const auto place = topology.places.find(tracks[first].rank);
    if (place != topology.places.end()) {
      grid.ranks.push_back(tracks[first].rank);
      for (StepGrid::Column& column : grid.columns) column.ranks.emplace_back();
      addRank(grid, columnOf, windows, place->second.replica,
              timeOf(tracks.subspan(first, last - first)));
      for (StepGrid::Column& column : grid.columns) column.all += column.ranks.back();
    }
    first = last;
  }
  return grid;
}

}  // namespace pipetrace
