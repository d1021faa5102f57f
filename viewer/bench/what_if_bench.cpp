// Measures the panel of what-ifs: from an event of a slider, or another change, to the frame with
// its preview, and how long advice takes.
#include <benchmark/benchmark.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QMainWindow>
#include <QSplitter>
#include <QTest>
#include <algorithm>
#include <memory>

#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "viewer/what_if/what_if_panel.h"

namespace pipetrace {
namespace {

/// A run under 1F1B with a slow stage and a slow link. Each job differs by up to a tenth.
std::shared_ptr<const LoadedProfile> runOf(int ranks, int microBatches, int steps) {
  Costs costs = Costs::equal(ranks, {.forward = 10 * kNsPerMs, .backward = 20 * kNsPerMs});
  costs.transfer = kNsPerMs;
  costs.optimizer = 5 * kNsPerMs;
  costs.stages[3].forward = 12 * kNsPerMs;
  costs.stages[3].backward = 24 * kNsPerMs;
  costs.faults.links.push_back({0, 1, 3 * kNsPerMs});
  Timeline timeline = simulate(CheckedPlan(buildSchedule("1F1B", ranks, microBatches)), costs,
                               {.steps = steps, .begin = kNsPerMs, .stepsStartTogether = true})
                          .timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics, 0);
  auto profile =
      std::make_shared<LoadedProfile>("run", Run(std::move(timeline), 0), std::move(diagnostics));
  profile->add(findBubbles(*profile));
  return profile;
}

/// The charts and the panel, as in the window.
class ShownPanel : public QObject {
 public:
  explicit ShownPanel(std::shared_ptr<const LoadedProfile> asked) : profile_(std::move(asked)) {
    chart_ = new ChartWidget;
    chart_->setModel(&profile_->model());
    auto* charts = new ChartStack(*chart_);
    panel_ = new WhatIfPanel(*charts);
    window_.addWidget(panel_);
    window_.addWidget(charts);
    window_.setSizes({340, 1060});
    window_.resize(1400, 800);
    window_.show();
    chart_->showMedianStep();
    panel_->setUsed(true);
    panel_->open({profile_, {}, AlignBy::kBest});
    await([&] { return panel_->work().facts() != nullptr; });
    connect(&panel_->work(), &WhatIfWork::previewed, this,
            [this](const auto& result) { latest_ = result->changes; });
    panel_->predictedChart().chart().viewport()->installEventFilter(this);
  }
  ~ShownPanel() override { chart_->setModel(nullptr); }

  /// The time from a change to the frame that shows its preview, in ms.
  double timeOf(const std::function<void()>& change) {
    isPainted_ = false;
    QElapsedTimer timer;
    timer.start();
    change();
    await([&] { return isPainted_; });
    return static_cast<double>(timer.nsecsElapsed()) / 1e6;
  }
  WhatIfPanel& panel() { return *panel_; }
  ChangeLine& line(int index) { return *panel_->findChildren<ChangeLine*>()[index]; }

  static void await(const std::function<bool()>& isSo) {
    while (!isSo()) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
  }

 protected:
  bool eventFilter(QObject* /*watched*/, QEvent* event) override {
    // The filter comes first: the frame is there once the event is over.
    if (event->type() == QEvent::Paint && latest_ == panel_->changes()) {
      QMetaObject::invokeMethod(
          this, [this] { isPainted_ = true; }, Qt::QueuedConnection);
    }
    return false;
  }

 private:
  std::shared_ptr<const LoadedProfile> profile_;
  QSplitter window_;
  ChartWidget* chart_ = nullptr;
  WhatIfPanel* panel_ = nullptr;
  WhatIfChanges latest_;
  bool isPainted_ = false;
};

/// The computing of a preview alone, with processor time. The arguments are ranks and
/// micro-batches.
void computeAPreview(benchmark::State& state) {
  const auto profile = runOf(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 4);
  const WhatIfGround ground(profile->run());
  WhatIfChanges changes;
  for (auto _ : state) {
    changes.stages[3] = changes.stages[3] == 900'000'000 ? 800'000'000 : 900'000'000;
    benchmark::DoNotOptimize(
        ground.preview(changes, ground.facts().stepJobs <= WhatIfWork::kManyJobs));
  }
}
BENCHMARK(computeAPreview)
    ->Args({64, 32})
    ->Args({256, 128})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void addQuantiles(benchmark::State& state, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  state.counters["p50_ms"] = at(0.5);
  state.counters["p95_ms"] = at(0.95);
}

/// The time of a stage follows a slider that is held. The arguments are ranks and micro-batches.
void slideTheTimeOfAStage(benchmark::State& state) {
  ShownPanel shown(runOf(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 6));
  shown.line(0).choose(3);
  QSlider& slider = shown.line(0).slider();
  slider.setSliderDown(true);
  int at = 0;
  std::vector<double> times;
  for (auto _ : state) {
    at = at >= 90 ? -90 : at + 7;
    times.push_back(shown.timeOf([&] { slider.setValue(at); }));
  }
  addQuantiles(state, std::move(times));
}
BENCHMARK(slideTheTimeOfAStage)
    ->Args({64, 32})
    ->Args({256, 128})
    ->Iterations(100)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

/// The same of a link.
void slideTheTimeOfALink(benchmark::State& state) {
  ShownPanel shown(runOf(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 6));
  QSlider& slider = shown.line(2).slider();
  slider.setSliderDown(true);
  int at = 0;
  std::vector<double> times;
  for (auto _ : state) {
    at = at >= 90 ? -90 : at + 7;
    times.push_back(shown.timeOf([&] { slider.setValue(at); }));
  }
  addQuantiles(state, std::move(times));
}
BENCHMARK(slideTheTimeOfALink)
    ->Args({64, 32})
    ->Args({256, 128})
    ->Iterations(100)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

/// Other plans of 64 ranks and 32 micro-batches, in turn.
void changeThePlan(benchmark::State& state, std::vector<const char*> plans) {
  ShownPanel shown(runOf(64, 32, 6));
  std::size_t next = 0;
  std::vector<double> times;
  for (auto _ : state) {
    const WhatIfChanges changes = WhatIfChanges::of(plans[next++ % plans.size()]);
    times.push_back(shown.timeOf([&] { shown.panel().setChanges(changes); }));
    shown.panel().work().cancelAnswer();
  }
  addQuantiles(state, std::move(times));
}
BENCHMARK_CAPTURE(changeThePlan, schedule, {"--schedule ZB-H1", "--schedule GPipe"})
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(changeThePlan, chunks, {"--chunks 2", "--chunks 4"})
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(changeThePlan, micro_batches,
                  {"--micro-batches 64", "--micro-batches 64 --keep-batch"})
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

/// Until the advice on a run of a million jobs is there, with the panel's preparations beside it.
void adviseOnAMillionJobs(benchmark::State& state) {
  const auto profile = runOf(64, 128, 60);
  for (auto _ : state) {
    WhatIfWork work;
    bool isThere = false;
    QObject::connect(&work, &WhatIfWork::advised, &work, [&] { isThere = true; });
    work.open(profile);
    work.advise();
    ShownPanel::await([&] { return isThere; });
  }
  state.counters["jobs"] = static_cast<double>(profile->model().jobCount());
}
BENCHMARK(adviseOnAMillionJobs)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
