// Ranges of steps, the step that a job belongs to, and counters with a function.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "profiler/cpu_stream.h"
#include "profiler/log/counter_sources.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const char* const kInfo = "Profiler Info: ";
const char* const kEnd = "Profiler End: ";

void recordSteps(Recorder& recorder, int steps, bool jobsNameThem) {
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const StreamId send = recorder.addStream("send", std::make_unique<CpuStream>());
  for (int step = 0; step < steps; ++step) {
    recorder.beginStep(step);
    for (const StreamId stream : {compute, send}) {
      Job job;
      if (jobsNameThem) job.step = step;
      recorder.begin(stream, job);
      recorder.end(stream);
    }
    recorder.endStep(step);
  }
  recorder.close();
}

TEST(RecorderStepsTest, OnlyTheStepsOfTheRangeAreRecorded) {
  for (const bool jobsNameThem : {true, false}) {
    RecordedLog log;
    Recorder recorder({.logDirectory = log.folder(), .steps = {.first = 3, .end = 6}});
    recordSteps(recorder, 9, jobsNameThem);
    EXPECT_THAT(log.lines(kInfo),
                ElementsAre(HasSubstr("step = 3"), HasSubstr("step = 4"), HasSubstr("step = 5")));
    EXPECT_THAT(log.lines("Profiler Stream: "), SizeIs(3));
    EXPECT_EQ(log.number(kEnd, "written"), 6);
    EXPECT_EQ(log.number(kEnd, "dropped"), 0);
    EXPECT_EQ(log.number(kEnd, "errors"), 0);
  }
}

TEST(RecorderStepsTest, AJobLeftOpenBeforeOneOfASkippedStepIsTheOnlyOneLost) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .steps = {.first = 0, .end = 1}});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  recorder.begin(compute, {.microBatch = 100, .step = 0});
  recorder.begin(compute, {.microBatch = 101, .step = 5});
  recorder.end(compute);
  for (int i = 0; i < 3; ++i) {
    recorder.begin(compute, {.microBatch = i, .step = 0});
    recorder.end(compute);
  }
  recorder.close();
  EXPECT_THAT(log.lines(kInfo),
              ElementsAre(HasSubstr("micro_batch_id = 0"), HasSubstr("micro_batch_id = 1"),
                          HasSubstr("micro_batch_id = 2")));
  EXPECT_EQ(log.number(kEnd, "dropped"), 0);
  EXPECT_EQ(log.number(kEnd, "errors"), 2) << "begun in another, and left open";
}

TEST(RecorderStepsTest, AJobAroundOneOfAnotherStepIsRecorded) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .steps = {.first = 0, .end = 1}});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  recorder.begin(compute, {.microBatch = 100, .step = 0});
  recorder.begin(compute, {.microBatch = 101, .step = 5});
  recorder.end(compute);
  recorder.end(compute);
  recorder.close();
  EXPECT_THAT(log.lines(kInfo), ElementsAre(HasSubstr("micro_batch_id = 100")));
  EXPECT_EQ(log.number(kEnd, "errors"), 1);
}

TEST(RecorderStepsTest, OnlySamplesOfTheStepsOfTheRangeAreRecorded) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .steps = {.first = 3, .end = 6}});
  for (int step = 0; step < 9; ++step) {
    recorder.beginStep(step);
    recorder.counter("loss", step);
  }
  recorder.addCounter("depth", "", [] { return 1.0; });  // asked for at once, but in step 8
  recorder.close();
  const std::vector<std::string> samples = log.lines("Profiler Counter: ");
  ASSERT_THAT(samples, SizeIs(3));
  EXPECT_THAT(samples[0], HasSubstr("value = 3"));
  EXPECT_THAT(samples[2], HasSubstr("value = 5"));
}

TEST(RecorderStepsTest, SamplesOfAProgramThatNamesNoStepAreRecordedUnlessNothingIs) {
  for (const auto& [end, samples] : {std::pair(6, 1u), std::pair(3, 0u)}) {
    RecordedLog log;
    Recorder recorder({.logDirectory = log.folder(), .steps = {.first = 3, .end = end}});
    recorder.counter("loss", 1);
    recorder.close();
    EXPECT_THAT(log.lines("Profiler Counter: "), SizeIs(samples));
  }
}

TEST(RecorderStepsTest, ARangeThatEndsBeforeItBeginsRecordsNothing) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .steps = {.first = 5, .end = 3}});
  recordSteps(recorder, 9, true);
  EXPECT_THAT(log.lines(kInfo), IsEmpty());
}

TEST(RecorderStepsTest, ASkippedJobThatIsNotEndedIsOnlyCountedAsAnError) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .steps = {.first = 1, .end = 3}});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  recorder.begin(compute, {.step = 1});  // given up by
  recorder.begin(compute, {.step = 5});  // this one, which is skipped, and given up by
  recorder.begin(compute, {.microBatch = 7, .step = 2});
  recorder.end(compute);
  recorder.begin(compute, {.microBatch = 8, .step = 2});
  recorder.end(compute);
  recorder.close();
  EXPECT_THAT(log.lines(kInfo), ElementsAre(HasSubstr("Job (7)"), HasSubstr("Job (8)")));
  EXPECT_EQ(log.number(kEnd, "errors"), 2);
}

TEST(RecorderStepsTest, JobsBelongToTheStepThatHasBegunUnlessTheySayOtherwise) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder()});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const auto job = [&](const Job& each) {
    recorder.begin(compute, each);
    recorder.end(compute);
  };
  job({.microBatch = 0});
  recorder.beginStep(4);
  job({.microBatch = 1});
  job({.microBatch = 2, .step = 9});
  recorder.close();
  EXPECT_THAT(log.lines(kInfo),
              ElementsAre(Not(HasSubstr("step")), HasSubstr("step = 4"), HasSubstr("step = 9")));
}

TEST(RecorderStepsTest, ARecorderThatIsOffTouchesNoFile) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder() + "/logs", .isOn = false});
  recordSteps(recorder, 3, true);
  EXPECT_FALSE(recorder.isOn());
  EXPECT_EQ(recorder.nextJobId(), kNotGiven);
  recorder.counter("loss", 1);
  recorder.addCounter("depth", "", [] { return 0.0; });
  recorder.flush();
  EXPECT_TRUE(std::filesystem::is_empty(log.folder()));
}

TEST(RecorderStepsTest, ACounterIsAskedForItsValue) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder()});
  std::atomic<int> value = 0;
  recorder.addCounter("queue depth", "jobs", [&] { return static_cast<double>(++value); });
  std::this_thread::sleep_for(std::chrono::milliseconds(450));
  recorder.close();
  const std::vector<std::string> lines = log.lines("Counter: name = \"queue depth\"");
  EXPECT_GE(lines.size(), 2u);
  EXPECT_LE(lines.size(), 7u);
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(value));
  EXPECT_THAT(lines, Each(HasSubstr("unit = jobs")));
}

/// Records counters while the log thread is woken at other times. Returns how many of ten samples
/// come within a quarter of the interval after they are due.
int samplesInTime() {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder()});
  for (int i = 0; i < 16; ++i) recorder.flush();  // after that it rarely wakes by itself
  recorder.addCounter("depth", "", [] { return 1.0; });
  for (int i = 0; i < 13; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(90));
    recorder.flush();
  }
  recorder.close();
  std::vector<Nanoseconds> times;
  for (const std::string& line : log.lines("Profiler Counter: name = depth, time = ")) {
    times.push_back(*parseDecimalTime(line.substr(0, line.find(',')), kNsPerMs));
  }
  times.resize(std::min<std::size_t>(times.size(), 11));
  constexpr Nanoseconds kInterval = CounterSources::kInterval;
  int inTime = 0;
  Nanoseconds due = times.at(0) + kInterval;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const Nanoseconds late = times[i] - due;
    if (late < kInterval / 4) ++inTime;
    due = late < kInterval ? due + kInterval : times[i] + kInterval;
  }
  return inTime;
}

TEST(RecorderStepsTest, TheLogThreadWakesWhenACounterIsDue) {
  int most = 0;  // on a busy machine a try may fail
  for (int attempt = 0; attempt < 8 && most < 8; ++attempt) most = std::max(most, samplesInTime());
  EXPECT_GE(most, 8);
}

}  // namespace
}  // namespace pipetrace
