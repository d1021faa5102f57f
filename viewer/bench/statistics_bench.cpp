// Measures the statistics of an area over ten million jobs on 64 ranks. The first area makes the
// index; then come counts, sums and means, and exact percentiles.
#include <benchmark/benchmark.h>

#include <random>

#include "chart/statistics/percentiles.h"
#include "chart/testing/timelines.h"

namespace pipetrace {
namespace {

const std::atomic<bool> kGoOn{false};

/// No two jobs are equally long: that would make the search for percentiles easy.
Timeline makeTimeline() {
  Timeline timeline =
      makeTestTimeline({.ranks = 64, .microBatches = 128, .steps = 600, .hasTransfers = false});
  std::mt19937 random(1);
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) event.end -= event.duration() * (random() % 1024) / 4096;
  }
  return timeline;
}

struct LargeRun {
  Timeline timeline = makeTimeline();
  ChartModel model{timeline};
  ChartArea area{{model.span().begin + kNsPerMs, model.span().end - kNsPerMs}, {}};

  LargeRun() {
    for (std::size_t row = 0; row < model.rows().size(); ++row) area.rows.push_back(row);
  }
};

const LargeRun& largeRun() {
  static const LargeRun run;
  return run;
}

void makeTheIndex(benchmark::State& state) {
  const LargeRun& run = largeRun();
  for (auto _ : state) benchmark::DoNotOptimize(StatisticsIndex(run.timeline));
  state.counters["events"] = static_cast<double>(run.timeline.eventCount());
}
BENCHMARK(makeTheIndex)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

void sumTheArea(benchmark::State& state) {
  const LargeRun& run = largeRun();
  const StatisticsIndex index(run.timeline);
  const AreaTracks area = tracksOf(run.model, run.area);
  for (auto _ : state) {
    const AreaSums sums = sumsOf(index, area, 0, kGoOn);
    benchmark::DoNotOptimize(linesOf(sums, StatisticsBy::kKind));
  }
}
BENCHMARK(sumTheArea)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

/// The argument is what the lines are.
void findThePercentiles(benchmark::State& state) {
  const LargeRun& run = largeRun();
  const StatisticsIndex index(run.timeline);
  const AreaSums sums = sumsOf(index, tracksOf(run.model, run.area), 0, kGoOn);
  const auto by = static_cast<StatisticsBy>(state.range(0));
  for (auto _ : state) {
    findPercentiles(index, sums, by, StatisticsOf::kAll, 0, kGoOn,
                    [](const LinePercentiles& line) { benchmark::DoNotOptimize(line.median); });
  }
}
BENCHMARK(findThePercentiles)
    ->DenseRange(0, 3)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace pipetrace

BENCHMARK_MAIN();
