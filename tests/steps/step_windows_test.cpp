// The chart, the summary and the SQLite profile have the same steps.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/testing/run_of_timeline.h"
#include "chart/chart_model.h"
#include "parser/sqlite/writer.h"

namespace pipetrace {
namespace {

using enum JobKind;

/// Two pipelines of two ranks. The second begins later and takes longer for a step. In the first,
/// rank 1 begins step 1 at 50, while rank 0 is in step 0 until 60.
class TwoPipelines {
 public:
  Timeline timeline;

  TwoPipelines() {
    add(0, kForward, 0, 10, 0);
    add(1, kForward, 10, 20, 0);
    add(1, kBackward, 20, 30, 0);
    add(1, kOptimizer, 30, 33, 0);
    add(0, kBackward, 30, 55, 0);
    add(0, kOptimizer, 55, 60, 0);
    add(1, kForward, 50, 58, 1);  // before the first step of its pipeline has ended
    add(0, kForward, 60, 70, 1);
    add(1, kBackward, 70, 80, 1);
    add(0, kBackward, 80, 95, 1);

    add(2, kForward, 5, 20, 0);
    add(3, kForward, 20, 35, 0);
    add(3, kBackward, 35, 60, 0);
    add(3, kOptimizer, 60, 63, 0);
    add(2, kBackward, 65, 85, 0);
    add(2, kOptimizer, 85, 90, 0);
    add(2, kForward, 100, 115, 1);
    add(3, kForward, 115, 130, 1);
    add(3, kBackward, 130, 155, 1);
    add(2, kBackward, 155, 180, 1);
  }

  /// Names the pipeline of each rank in the logs.
  void namePipelines() {
    for (auto& [rank, info] : timeline.ranks) info.dataParallelIndex = rank / 2;
  }
  /// Shows the pipelines only by messages between ranks.
  void addMessages() {
    for (const int rank : {0, 2}) {
      Event& send = timeline.track(rank, kSendLane).events.emplace_back();
      send.begin = 20;
      send.end = 21;
      send.step = 0;
      send.peer = rank + 1;
      send.kind = kSendForward;
    }
  }

 private:
  void add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, std::int32_t step) {
    Event& job = timeline.track(rank, kComputeLane).events.emplace_back();
    job.begin = begin;
    job.end = end;
    job.step = step;
    job.kind = kind;
  }
};

using Row = std::vector<Nanoseconds>;

// The columns: step, replica, begin, end, duration, window, time between steps.
const std::vector<Row> kTable = {{0, 0, 0, 60, 60, 50, 0},
                                 {0, 1, 5, 90, 85, 85, 10},
                                 {1, 0, 50, 95, 45, 45, 0},
                                 {1, 1, 100, 180, 80, 80, 0}};
// The columns: step, begin and end of its span, from the first begin to the last end of its
// windows.
const std::vector<Row> kSpans = {{0, 0, 90}, {1, 50, 180}};

std::vector<Row> rowsOfSummary(const Timeline& timeline) {
  std::vector<Row> rows;
  for (const StepSummary& step : summarize(timeline).steps) {
    rows.push_back({step.step, step.replica, step.begin, step.end, step.duration(), step.window(),
                    step.betweenSteps});
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Row> rowsOfSqlite(const Timeline& timeline) {
  // ctest runs each test in its own process, several at once.
  const std::string path = testing::TempDir() + "steps " + std::to_string(getpid()) + ".sqlite";
  OutputFile out(path);
  writeSqlite(timeline, out);
  out.commit();
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  std::vector<Row> rows;
  const auto keep = [](void* list, int count, char** values, char**) {
    Row& row = static_cast<std::vector<Row>*>(list)->emplace_back();
    for (int i = 0; i < count; ++i) row.push_back(std::stoll(values[i]));
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(database,
                         "SELECT step, replica, begin_ns, end_ns, duration_ns, window_ns, "
                         "between_steps_ns FROM step ORDER BY step, replica",
                         keep, &rows, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  std::filesystem::remove(path);
  return rows;
}

std::vector<Row> rowsOfChart(const Timeline& timeline) {
  std::vector<Row> rows;
  const ChartModel model(timeline);
  for (const StepSpan& step : model.steps()) rows.push_back({step.step, step.begin, step.end});
  return rows;
}

void expectTheTable(Timeline timeline) {
  timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  EXPECT_EQ(rowsOfSummary(timeline), kTable);
  EXPECT_EQ(rowsOfSqlite(timeline), kTable);
  EXPECT_EQ(rowsOfChart(timeline), kSpans);
}

TEST(StepsOfTwoPipelines, ChartSummaryAndSqliteAgreeWhereTheLogsNameThePipelines) {
  TwoPipelines run;
  run.namePipelines();
  expectTheTable(run.timeline);
}

TEST(StepsOfTwoPipelines, ChartSummaryAndSqliteAgreeWhereOnlyMessagesShowThePipelines) {
  TwoPipelines run;
  run.addMessages();
  expectTheTable(run.timeline);
}

}  // namespace
}  // namespace pipetrace
