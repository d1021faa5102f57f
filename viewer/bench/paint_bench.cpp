// Measures the time of a frame: a million jobs on 4 ranks in 1920x1080 pixels, at several zooms.
#include <benchmark/benchmark.h>

#include <QApplication>
#include <QImage>

#include "viewer/testing/shown_chart.h"

namespace pipetrace {
namespace {

/// The argument is the number of notches that the wheel has zoomed in; 0 shows the whole run.
void paintAMillionJobs(benchmark::State& state) {
  ShownChart chart({.ranks = 4, .microBatches = 32, .steps = 1544}, {1920, 1080});
  for (int i = 0; i < state.range(0); ++i) chart.wheel({900, 400}, {0, 120});
  QImage image(chart.widget().viewport()->size(), QImage::Format_RGB32);
  for (auto _ : state) chart.widget().viewport()->render(&image);
  state.counters["jobs"] =
      static_cast<double>(chart.model().jobCount() + chart.model().transferCount());
}
BENCHMARK(paintAMillionJobs)->DenseRange(0, 60, 10)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
