#include "viewer/testing/prepared_windows.h"

#include <QAction>
#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QListWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/testing/hybrid_run.h"
#include "parser/chrome/write/writer.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "trace/append.h"
#include "trace/files/output_file.h"
#include "trace/log/write_job_logs.h"
#include "viewer/causes/causes.h"
#include "viewer/search/chart_search.h"
#include "viewer/testing/compared_runs.h"

namespace pipetrace {
namespace {

void await(const char* what, const std::function<bool()>& isSo) {
  if (!QTest::qWaitFor(isSo, 60'000)) throw std::runtime_error(std::string("never: ") + what);
}

void awaitCauses(MainWindow& window) {
  await("the run is open", [&] { return window.explanation() != nullptr; });
  QTest::qWait(50);  // until the docks have their sizes
}

/// Clicks on the first event in view that is wanted.
void clickOn(MainWindow& window, bool isBubble,
             const std::function<bool(int rank, const Event&)>& isWanted) {
  const ChartView view = window.chart()->view();
  for (std::size_t i = 0; i < view.model.rows().size(); ++i) {
    const auto& row = view.model.rows()[i];
    for (const LaneIndex& lane : isBubble ? row.bubbles : row.lanes) {
      for (std::size_t e = 0; e < lane.size(); ++e) {
        const bool isSeen = lane[e].begin > view.axis.begin() && lane[e].end < view.axis.end();
        if (!isSeen || !isWanted(row.rank, lane[e])) continue;
        const QPoint at(view.xOf(lane[e].begin + lane[e].duration() / 2),
                        view.yOf(view.layout[i].top + view.layout[i].height / 2));
        return QTest::mouseClick(window.chart()->viewport(), Qt::LeftButton, Qt::NoModifier, at);
      }
    }
  }
  throw std::runtime_error("no such event in view");
}

/// Waits until it is known whether the selected job is on the critical path.
void awaitDetails(MainWindow& window) {
  await("details are known", [&] {
    const auto& job = window.chart()->selection();
    return job && partOf<Causes>(window).isOnPath({job->row, job->event});
  });
}

/// Every cell has its number: percentiles come later than sums.
bool isComplete(const QAbstractItemModel& table) {
  for (int row = 0; row < table.rowCount(); ++row) {
    for (int column = 0; column < table.columnCount(); ++column) {
      if (table.index(row, column).data().toString() == QStringLiteral("…")) return false;
    }
  }
  return table.rowCount() > 0;
}

/// Interleaved 1F1B of four ranks with two chunks; the second replica is slower by a tenth.
Timeline replicas() {
  const CheckedPlan plan(buildSchedule("Interleaved1F1B", {4, 8, 2}));
  Timeline run;
  for (int replica = 0; replica < 2; ++replica) {
    const Nanoseconds unit = kNsPerMs * (10 + replica) / 10;
    Costs costs = Costs::equal(8, {.forward = 5 * unit, .backward = 10 * unit});
    costs.transfer = kNsPerMs / 2;
    costs.optimizer = 6 * kNsPerMs;
    Timeline one = simulate(plan, costs, {.steps = 4, .begin = kNsPerMs}).timeline;
    const int first = 4 * replica;
    for (Track& track : one.tracks) {
      track.rank += first;
      for (Event& event : track.events) event.peer += event.peer != kNotGiven ? first : 0;
    }
    for (auto& [rank, info] : std::exchange(one.ranks, {})) {
      RankInfo& moved = one.ranks[first + rank] = info;
      moved.worldSize = 8;
      moved.dataParallelIndex = replica;
    }
    append(std::move(one), run);
  }
  run.sort();
  return run;
}

/// Each layer takes 0.8 to 1.2 times as long as usual.
HybridRun unevenPeers() {
  HybridRun run;
  run.tensor = 4;
  run.layers = 3;
  run.microBatches = 8;
  run.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    const int drawn = kernel.rank % 4 * 37 + kernel.microBatch * 53 + kernel.layer * 29;
    return usual * (80 + drawn % 41) / 100;
  };
  return run;
}

}  // namespace

void openSample(MainWindow& window) {
  window.openSample();
  awaitCauses(window);
}

void openReplicas(MainWindow& window) {
  const QTemporaryDir folder;
  writeJobLogs(replicas(), folder.path().toStdString());
  window.open({folder.path()});
  awaitCauses(window);
}

void openUnevenPeers(MainWindow& window) {
  const QTemporaryDir folder;
  const QString profile = folder.filePath(QStringLiteral("uneven.json"));
  OutputFile out(profile.toStdString());
  writeChromeJson(unevenPeers().timeline(), {}, out);
  out.commit();
  window.open({profile});
  awaitCauses(window);
}

void openTwoRuns(MainWindow& window) {
  const QTemporaryDir folder;
  const auto write = [&](const char* name, const SimulatedRun& run) {
    const QString path = folder.filePath(QString::fromLatin1(name));
    QDir().mkpath(path);
    run.writeTo(path.toStdString());
    return path;
  };
  SimulatedRun slow{.steps = 4, .backwardOfStage2 = 1.2};
  slow.faults.jobs = {{.action = {JobKind::kForward, 1, 3}, .longer = 6 * kNsPerMs},
                      {.action = {JobKind::kBackward, 3, 4}, .longer = -5 * kNsPerMs}};
  window.open({write("before", {.steps = 4})});
  awaitCauses(window);
  window.compareWith({write("after", slow)});
  await("twins are known", [&] { return window.comparePane()->comparison().twins() != nullptr; });
  QTest::qWait(50);  // until the docks have their sizes
  press(window, Qt::Key_X);
}

void openWithPlan(MainWindow& window) {
  const QTemporaryDir folder;
  SimulatedRun run{.steps = 5};
  run.faults.jobs = {{.action = {JobKind::kForward, 2, 2}, .step = 1, .longer = 12 * kNsPerMs},
                     {.action = {JobKind::kBackward, 1, 5}, .step = 1, .late = 9 * kNsPerMs}};
  run.writeTo(folder.path().toStdString());
  window.open({folder.path()});
  awaitCauses(window);
  press(window, Qt::Key_G);
  window.chart()->showStep(1);
  await("the plan is shown", [&] {
    const StepBesidePlan* const step = window.planGhost()->listedStep();
    return step != nullptr && step->step.step == 1;
  });
  const auto& list = *partOf<QDockWidget>(window, "plan").findChild<QListWidget*>();
  await("what is not as planned is listed",
        [&] { return list.count() > 1 && list.visualItemRect(list.item(0)).isValid(); });
  QTest::qWait(50);  // until the docks have their sizes
}

void showWaiting(MainWindow& window) {
  auto& dock = partOf<QDockWidget>(window, "waiting");
  dock.raise();
  auto& map = *dock.findChild<QTableView*>();
  await("the map is shown", [&] { return !map.visibleRegion().isEmpty(); });
  QTest::qWait(50);  // until the docks have their sizes
}

void askWhatIf(MainWindow& window, const char* changes) {
  QTest::keyClick(window.chart(), Qt::Key_W, Qt::AltModifier);
  auto& panel = partOf<WhatIfPanel>(window);
  await("the run can be asked", [&] { return panel.work().facts() != nullptr; });
  panel.setChanges(WhatIfChanges::of(changes));
  await("the answer is there", [&] { return panel.answer() != nullptr; });
  await("advice is there", [&] { return !panel.work().isAdvising(); });
  QTest::qWait(50);  // until the docks have their sizes
}

void selectBubble(MainWindow& window, BubbleClass cause) {
  clickOn(window, true, [&](int, const Event& event) { return event.bubbleClass == cause; });
}

void selectJob(MainWindow& window, int rank, JobKind kind, int microBatch) {
  clickOn(window, false, [&](int ofRow, const Event& event) {
    return ofRow == rank && event.kind == kind && event.microBatch == microBatch;
  });
  awaitDetails(window);
}

void find(MainWindow& window, const char* query) {
  press(window, Qt::Key_Slash);
  QTest::keyClicks(QApplication::focusWidget(), QString::fromLatin1(query));
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  await("all matches are counted", [&] {
    const auto& search = partOf<ChartSearch>(window);
    return search.count() > 0 && !search.isBusy();
  });
  awaitDetails(window);
}

void showCriticalPath(MainWindow& window) {
  press(window, Qt::Key_P, Qt::ShiftModifier);
  await("paths are drawn", [&] {
    const ChartView view = window.chart()->view();
    const auto& steps = view.model.steps();
    const auto isIn = [&](const auto& step) {
      return step.begin < view.axis.end() && step.end > view.axis.begin();
    };
    const auto inView = std::count_if(steps.begin(), steps.end(), isIn);
    return static_cast<std::ptrdiff_t>(partOf<Causes>(window).pathsIn(view).size()) >= inView;
  });
}

void dragArea(MainWindow& window, QPointF from, QPointF to) {
  QWidget* const viewport = window.chart()->viewport();
  const PixelRect area = window.chart()->view().area;
  const auto pointAt = [&](QPointF share) {
    return QPoint(area.x + static_cast<int>(share.x() * area.width),
                  area.y + static_cast<int>(share.y() * area.height));
  };
  const auto moveTo = [&](QPoint at) {
    QMouseEvent event(QEvent::MouseMove, at, viewport->mapToGlobal(at), Qt::NoButton,
                      Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(viewport, &event);
  };
  QTest::mousePress(viewport, Qt::LeftButton, Qt::NoModifier, pointAt(from));
  moveTo(pointAt((from + to) / 2));
  moveTo(pointAt(to));
  QTest::mouseRelease(viewport, Qt::LeftButton, Qt::NoModifier, pointAt(to));
  const auto& table = partOf<QDockWidget>(window, "statistics");
  await("percentiles are known",
        [&] { return isComplete(*table.findChild<QTableView*>("lines")->model()); });
}

void press(MainWindow& window, Qt::Key key, Qt::KeyboardModifiers modifiers) {
  window.chart()->setFocus();
  QTest::keyClick(window.chart(), key, modifiers);
}

void run(MainWindow& window, const char* command) { partOf<QAction>(window, command).trigger(); }

}  // namespace pipetrace
