// Measures the time of a frame of folded rows, at several zooms. tests/bench/viewer_bench measures
// those of rows with lanes.
// And how long the window stands still when another theme is chosen for ten million events.
#include <benchmark/benchmark.h>

#include <QApplication>
#include <QImage>

#include "chart/testing/replicas.h"
#include "viewer/testing/shown_chart.h"

namespace pipetrace {
namespace {

/// 16 folded replicas of 64 ranks each, a million jobs. The argument is the
/// number of notches that the wheel has zoomed in; 0 shows the whole run.
void paintFoldedReplicas(benchmark::State& state) {
  ShownChart chart(makeReplicas(16, {.ranks = 64,
                                     .microBatches = 32,
                                     .steps = 15,
                                     .hasTransfers = false,
                                     .hasBubbles = false}),
                   {1920, 1080});
  chart.widget().foldAllRows(true);
  for (int i = 0; i < state.range(0); ++i) chart.wheel({900, 400}, {0, 120});
  QImage image(chart.widget().viewport()->size(), QImage::Format_RGB32);
  chart.widget().viewport()->render(&image);
  chart.model().loads().wait();
  for (auto _ : state) chart.widget().viewport()->render(&image);
  state.counters["jobs"] = static_cast<double>(chart.model().jobCount());
}
BENCHMARK(paintFoldedReplicas)->DenseRange(0, 60, 20)->Unit(benchmark::kMillisecond);
void changeTheThemeOfTenMillionEvents(benchmark::State& state) {
  ShownChart chart({.ranks = 16, .microBatches = 64, .steps = 1320}, {1920, 1080});
  bool isDark = false;
  QImage image(chart.widget().viewport()->size(), QImage::Format_RGB32);
  for (auto _ : state) {
    isDark = !isDark;
    chart.setTheme(themeOf(ThemeName::kPaddle, isDark));
    chart.widget().viewport()->render(&image);
  }
  std::size_t events = 0;
  for (const Track& track : chart.model().timeline().tracks) events += track.events.size();
  state.counters["events"] = static_cast<double>(events);
}
BENCHMARK(changeTheThemeOfTenMillionEvents)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
