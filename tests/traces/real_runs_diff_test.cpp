// Real runs compared with themselves: what is no difference is found none, and sums are exact.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "analysis/present/diff_reasons.h"
#include "analysis/present/diff_report.h"
#include "analysis/run_summary.h"
#include "analysis/testing/run_of_timeline.h"
#include "parser/testing/load_timeline.h"
#include "trace/testing/folders.h"
#include "trace/testing/is_sanitized.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

struct RealRun {
  const char* name;
  const char* file;
};
void PrintTo(const RealRun& run, std::ostream* out) { *out << run.name; }

class RealRunDiff : public testing::TestWithParam<RealRun> {
 protected:
  void SetUp() override {
    const fs::path path = fs::path(test::inSources("../shared/data")) / GetParam().file;
    if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
    Diagnostics diagnostics;
    timeline_ = test::loadTimeline({path.string()}, {.threads = 1}, diagnostics);
    completeTimeline(timeline_, diagnostics);
    run_ = measureRun(asRun(timeline_), {});
  }

  /// Also that sums are exact.
  RunDiff compare(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) const {
    RunDiff diff = diffOf(withSteps(run_, a), withSteps(run_, b), 0.02);
    Nanoseconds sumOfA = 0;
    Nanoseconds sumOfB = 0;
    for (const DiffPart& part : diff.parts) sumOfA += part.a, sumOfB += part.b;
    EXPECT_EQ(sumOfA, diff.step.a);
    EXPECT_EQ(sumOfB, diff.step.b);
    return diff;
  }

  /// Whether the answer says that anything is slower or faster.
  static bool isAlarm(const RunDiff& diff) {
    return diffVerdict(diff) != "equal" || !changeReasons(diff).empty();
  }

  Timeline timeline_;
  MeasuredRun run_;
};

TEST_P(RealRunDiff, ARunWithItselfShowsNothing) {
  const RunDiff diff = diffOf(asRun(timeline_), asRun(timeline_), {});
  EXPECT_FALSE(isAlarm(diff)) << diffAnswer(diff);
  EXPECT_EQ(diff.step.difference(), 0);
}

TEST_P(RealRunDiff, BusyAndIdleTimeOfARankFillItsWindow) {
  Nanoseconds windows = 0;
  for (const MeasuredRun::Step& step : run_.steps) windows += step.window;
  Nanoseconds all = 0;
  for (const auto& [key, times] : run_.busy) all = std::accumulate(times.begin(), times.end(), all);
  for (const auto& [key, times] : run_.idle) all = std::accumulate(times.begin(), times.end(), all);
  EXPECT_EQ(all, windows);
}

TEST_P(RealRunDiff, EvenAndOddStepsAreAlike) {
  std::vector<std::size_t> even;
  std::vector<std::size_t> odd;
  for (std::size_t i = 0; i < run_.steps.size(); ++i) (i % 2 == 0 ? even : odd).push_back(i);
  const RunDiff diff = compare(even, odd);
  EXPECT_FALSE(isAlarm(diff)) << diffAnswer(diff);
}

// Intervals of 95 % leave a twentieth out; chance makes that a tenth and more of few.
TEST_P(RealRunDiff, RandomHalvesDifferNoMoreOftenThanTheirIntervalsSay) {
  std::mt19937_64 random(1);  // NOLINT: the same every time
  std::vector<std::size_t> steps(run_.steps.size());
  std::iota(steps.begin(), steps.end(), std::size_t{0});
  int alarms = 0;
  for (int split = 0; split < test::drawn(100); ++split) {
    std::shuffle(steps.begin(), steps.end(), random);
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::vector<std::size_t> a(steps.begin(), middle);
    std::vector<std::size_t> b(middle, steps.end());
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    alarms += isAlarm(compare(a, b)) ? 1 : 0;
  }
  EXPECT_LE(alarms, test::drawn(100) / 10 + 2);
}

INSTANTIATE_TEST_SUITE_P(All, RealRunDiff,
                         testing::Values(RealRun{"StragglerStudy",
                                                 "straggler_study/timeline-ST.json.gz"},
                                         RealRun{"MegatronApp", "megatronapp/app_aggregated.json"},
                                         RealRun{"TwoReplicas", "two_replicas"}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace pipetrace
