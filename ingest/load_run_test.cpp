#include "ingest/load_run.h"

#include <gmock/gmock.h>

#include "analysis/testing/run_of_timeline.h"
#include "ingest/testing/skewed_run.h"
#include "parser/chrome/write/writer.h"
#include "parser/reader_registry.h"
#include "parser/testing/files.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/log/write_job_logs.h"

namespace pipetrace {
namespace {

using test::describe;
using test::runOfTwoHosts;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Nanoseconds kBehind = 7'000'123;

class LoadRunTest : public test::FolderTest {
 protected:
  std::string logs(Nanoseconds behind) const {
    const std::string folder = path("logs " + std::to_string(behind));
    writeJobLogs(runOfTwoHosts(behind), folder);
    return folder;
  }

  std::string profile(const Timeline& timeline, const std::string& name) const {
    OutputFile file(path(name));
    writeChromeJson(timeline, {}, file);
    file.commit();
    return path(name);
  }

  static pipetrace::Run loaded(const RunRequest& request) {
    Diagnostics diagnostics;
    return loadRun(request, makeTraceReaders(), diagnostics);
  }
  static Timeline load(const RunRequest& request) { return loaded(request).takeTimeline(); }

  static std::size_t bubblesOf(const Timeline& timeline) {
    const Track* const track = timeline.findTrack(1, kBubbleLane);
    return track == nullptr ? 0 : track->events.size();
  }
};

TEST_F(LoadRunTest, RunOfTwoHostsIsTheSameWhateverTheirClocksShow) {
  const RunRequest request{.inputs = {logs(0)}};
  const RunRequest skewed{.inputs = {logs(kBehind)}};
  const Timeline run = load(request);
  EXPECT_EQ(describe(load(skewed)), describe(run));
  EXPECT_EQ(describe(readyToShow(loaded(skewed), skewed).timeline),
            describe(readyToShow(asRun(run), request).timeline));
  EXPECT_EQ(load({.inputs = {logs(kBehind)}, .align = AlignBy::kNone}).span().begin,
            run.span().begin - kBehind);
}

TEST_F(LoadRunTest, ClocksOfHostsThatAreDecadesApartAreAligned) {
  constexpr Nanoseconds kDecades = 50 * 365 * 86'400 * kNsPerSecond;
  EXPECT_EQ(describe(load({.inputs = {logs(kDecades)}})), describe(load({.inputs = {logs(0)}})));
}

/// Later parts add up times of all steps and ranks.
TEST_F(LoadRunTest, TimesTooFarApartToAddUpAreAnError) {
  const std::string job = "Profiler Info: Job (0), type = forward, micro_batch_id = 0, ";
  const std::string log = write(
      "workerlog.0",
      job + "job_start_time = 1697793307213.000000, job_end_time = 1697793307214.000000\n" + job +
          "job_start_time = 1797793307213.000000, job_end_time = 1797793307214.000000\n");
  EXPECT_THAT([&] { load({.inputs = {log}}); },
              ThrowsMessage<Error>(HasSubstr("more than a year apart")));
}

TEST_F(LoadRunTest, ProfilesClocksAreAlignedOnlyWhereItNeedNotStayAsWritten) {
  const std::string asLogged =
      profile(load({.inputs = {logs(kBehind)}, .align = AlignBy::kNone}), "as logged.json");
  const Nanoseconds begin = load({.inputs = {logs(0)}}).span().begin;
  EXPECT_EQ(load({.inputs = {asLogged}}).span().begin, begin);
  EXPECT_EQ(load({.inputs = {asLogged}, .profilesAsWritten = true}).span().begin, begin - kBehind);
  const RunRequest logsAsWell{.inputs = {logs(kBehind)}, .profilesAsWritten = true};
  EXPECT_EQ(load(logsAsWell).span().begin, begin);
}

TEST_F(LoadRunTest, BubblesOfAProfileAreKeptReplacedOrLeftOut) {
  const RunRequest logsOnly{.inputs = {logs(0)}};
  const Timeline run = readyToShow(loaded(logsOnly), logsOnly).timeline;
  ASSERT_GT(bubblesOf(run), 1U);
  Timeline withOne = run;
  withOne.track(1, kBubbleLane).events.resize(1);
  RunRequest request{.inputs = {profile(withOne, "p.json")}};
  EXPECT_EQ(bubblesOf(readyToShow(loaded(request), request).timeline), bubblesOf(run));
  request.profilesAsWritten = true;
  EXPECT_EQ(bubblesOf(readyToShow(loaded(request), request).timeline), 1U);
  request.bubbles = false;
  EXPECT_EQ(bubblesOf(readyToShow(loaded(request), request).timeline), 0U);
}

TEST_F(LoadRunTest, BubblesAreAddedToAProfileThatHasNone) {
  const RunRequest request{.inputs = {profile(load({.inputs = {logs(0)}}), "p.json")},
                           .profilesAsWritten = true};
  EXPECT_GT(bubblesOf(readyToShow(loaded(request), request).timeline), 0U);
}

TEST_F(LoadRunTest, FiguresOfTheSelectedStepsAreThoseOfTheWholeRun) {
  RunRequest request{.inputs = {logs(0)}};
  const ReadyRun whole = readyToShow(loaded(request), request);
  request.selection.steps = {{1, 2}};
  const ReadyRun part = readyToShow(loaded(request), request);
  ASSERT_EQ(whole.summary.steps.size(), 2U);
  ASSERT_EQ(part.summary.steps.size(), 1U);
  EXPECT_EQ(part.summary.steps[0].begin, whole.summary.steps[1].begin);
  EXPECT_EQ(part.summary.steps[0].bubbleRatio, whole.summary.steps[1].bubbleRatio);
  EXPECT_LT(part.timeline.eventCount(), whole.timeline.eventCount());
}

}  // namespace
}  // namespace pipetrace
