#include "analysis/run/steps/device_work.h"

#include <gmock/gmock.h>

#include "analysis/present/summary_report.h"
#include "analysis/run/steps/selection.h"
#include "analysis/run_summary.h"
#include "analysis/testing/run_of_timeline.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

namespace keys = device_arguments;

void addJob(Timeline& timeline, int stage, Nanoseconds begin, Nanoseconds end,
            std::vector<std::pair<std::string_view, std::int64_t>> arguments) {
  Event job{.begin = begin, .end = end, .step = 0, .microBatch = 0, .stage = stage};
  job.kind = JobKind::kForward;
  std::vector<Argument> list;
  for (const auto& [key, value] : arguments) {
    list.push_back(Argument::ofInteger(timeline.strings.intern(key), value));
  }
  timeline.setArguments(job, list);
  timeline.ranks[0];
  timeline.track(0, kComputeLane).events.push_back(job);
}

Timeline twoStages() {
  Timeline timeline;
  addJob(timeline, 0, 0, 100'000,
         {{keys::kKernels, 3}, {keys::kDeviceBusy, 60'000}, {keys::kCommInside, 30'000}});
  addJob(timeline, 0, 200'000, 250'000,
         {{keys::kKernels, 2}, {keys::kDeviceBusy, 50'000}, {keys::kCommInside, 0}});
  addJob(timeline, 4, 300'000, 340'000,
         {{keys::kKernels, 1}, {keys::kDeviceBusy, 10'000}, {keys::kCommInside, 5'000}});
  addJob(timeline, 4, 400'000, 440'000, {});  // with the host's times
  timeline.sort();
  return timeline;
}

TEST(DeviceWork, IdleTimeInsideJobsIsSummedByRankAndStage) {
  const auto work = deviceWorkOf(twoStages());
  ASSERT_THAT(work, SizeIs(2));
  EXPECT_EQ(work[0].stage, 0);
  EXPECT_EQ(work[0].jobs, 2);
  EXPECT_EQ(work[0].kernels, 5);
  EXPECT_EQ(work[0].length, 150'000);
  EXPECT_EQ(work[0].busy, 110'000);
  EXPECT_EQ(work[0].commInside, 30'000);
  EXPECT_EQ(work[0].launchBound(), 10'000);
  EXPECT_EQ(work[1].stage, 4);
  EXPECT_EQ(work[1].jobs, 1);
  EXPECT_EQ(work[1].launchBound(), 25'000);
}

TEST(DeviceWork, ReportsHaveATableOfItByRankAndStage) {
  const Timeline timeline = twoStages();
  const RunSummary summary = summarize(timeline);
  EXPECT_THAT(textReport(timeline, summary),
              AllOf(HasSubstr("  rank  stage   in jobs        device busy        comm inside       "
                              "launch-bound\n"),
                    HasSubstr("     0      0  150.0 us  110.0 us (73.3 %)  30.00 us (20.0 %)   "
                              "10.00 us (6.7 %)\n"),
                    HasSubstr("     0      4  40.00 us  10.00 us (25.0 %)  5.000 us (12.5 %)  "
                              "25.00 us (62.5 %)\n")));
  EXPECT_THAT(jsonReport(timeline, summary), HasSubstr("\"launch_bound_ns\": 25000"));
}

TEST(DeviceWork, SumsAreOverTheStepsAndRanksThatAreLeft) {
  Timeline timeline;
  const auto add = [&](int step, Nanoseconds begin) {
    addJob(timeline, 0, begin, begin + 100,
           {{keys::kKernels, 1}, {keys::kDeviceBusy, 60}, {keys::kCommInside, 0}});
    timeline.track(0, kComputeLane).events.back().step = step;
  };
  add(0, 0);
  add(1, 1000);
  add(1, 2000);
  timeline.sort();
  const auto lengthIn = [&](const Selection& selection) {
    Nanoseconds sum = 0;
    for (const auto& work : overSteps(selected(summarize(timeline), selection).deviceWork)) {
      sum += work.length;
    }
    return sum;
  };
  EXPECT_EQ(lengthIn({}), 300);
  EXPECT_EQ(lengthIn({.steps = {{1, 2}}}), 200);
  EXPECT_EQ(lengthIn({.ranks = {{3, 4}}}), 0);
}

TEST(DeviceWork, JobsThatLackOneOfTheTimesDoNotCount) {
  for (const std::string_view missing : {keys::kKernels, keys::kDeviceBusy, keys::kCommInside}) {
    Timeline timeline;
    std::vector<std::pair<std::string_view, std::int64_t>> arguments;
    for (const std::string_view key : {keys::kKernels, keys::kDeviceBusy, keys::kCommInside}) {
      if (key != missing) arguments.emplace_back(key, 1);
    }
    addJob(timeline, 0, 0, 100, arguments);
    EXPECT_THAT(deviceWorkOf(timeline), IsEmpty()) << "no job of the run has " << missing;
    addJob(timeline, 1, 200, 300,
           {{keys::kKernels, 1}, {keys::kDeviceBusy, 60}, {keys::kCommInside, 0}});
    const auto work = deviceWorkOf(timeline);
    ASSERT_THAT(work, SizeIs(1)) << missing;
    EXPECT_EQ(work[0].stage, 1);
  }
}

TEST(DeviceWork, RunWithoutDeviceTimesHasNoSuchTable) {
  Timeline timeline;
  addJob(timeline, 0, 0, 100, {});
  EXPECT_THAT(deviceWorkOf(timeline), IsEmpty());
  const RunSummary summary = summarize(timeline);
  EXPECT_THAT(textReport(timeline, summary), Not(HasSubstr("launch-bound")));
  EXPECT_THAT(jsonReport(timeline, summary), Not(HasSubstr("launch_bound")));
}

}  // namespace
}  // namespace pipetrace
