// The phase of the steps that a recorder records.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "profiler/cpu_stream.h"
#include "profiler/pipetrace.h"
#include "profiler/testing/recorder_fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const auto kIsTraining = Not(HasSubstr("phase"));
const auto kIsEvaluation = EndsWith(", phase = evaluate");
const auto kIsPrediction = EndsWith(", phase = predict");

TEST(RecordedPhaseTest, JobsOfAllStreamsHaveThePhaseThatWasSetWhenTheyBegan) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const StreamId send = recorder.addStream("send", std::make_unique<CpuStream>());
  const StreamId reduce = recorder.addStream("all_reduce", std::make_unique<CpuStream>());
  int step = 0;
  for (const Phase phase :
       {Phase::kTraining, Phase::kEvaluate, Phase::kPredict, Phase::kTraining}) {
    recorder.setPhase(phase);
    recorder.beginStep(step);
    recorder.begin(compute, {.kind = JobKind::kForward, .step = step, .action = "0F0"});
    recorder.end(compute);
    recorder.begin(send, {.kind = JobKind::kSendForward, .peer = 1, .bytes = 8});
    recorder.end(send);
    recorder.begin(reduce, {.kind = JobKind::kAllReduce, .action = "0 1"});
    recorder.end(reduce);
    recorder.counter("loss", 0.5);
    recorder.endStep(step++);
  }
  recorder.close();
  EXPECT_THAT(log.lines(kInfo),
              ElementsAre(kIsTraining, kIsEvaluation, kIsPrediction, kIsTraining));
  const auto others = log.lines("Profiler Stream: ");
  EXPECT_THAT(others, ElementsAre(kIsTraining, kIsTraining, kIsEvaluation, kIsEvaluation,
                                  kIsPrediction, kIsPrediction, kIsTraining, kIsTraining));
  EXPECT_THAT(others[3], HasSubstr("members = \"0 1\""));
  EXPECT_THAT(log.lines("Profiler Counter: "), Each(kIsTraining));
  EXPECT_EQ(log.number(kEnd, "errors"), 0);
}

TEST(RecordedPhaseTest, EveryJobOfALongEvaluationHasItsPhase) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  recorder.setPhase(Phase::kEvaluate);
  for (int i = 0; i < 100; ++i) {  // the 33rd and the 97th are timed
    recorder.begin(compute, {.kind = JobKind::kForward, .part = i, .version = 3});
    recorder.end(compute);
  }
  recorder.close();
  const auto lines = log.lines(kInfo);
  EXPECT_EQ(lines.size(), 100u);
  EXPECT_THAT(lines, Each(AllOf(HasSubstr(", version = 3, "), kIsEvaluation)));
}

TEST(RecordedPhaseTest, TheHeaderForCSetsItAndCountsANumberThatIsNoPhase) {
  RecordedLog log;
  pipetrace_options options;
  pipetrace_options_init(&options);
  options.enabled = PIPETRACE_ON;
  options.log_directory = log.folder().c_str();
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0) << pipetrace_error();
  ASSERT_EQ(pipetrace_add_stream(recorder, "compute"), 0);
  pipetrace_job job;
  pipetrace_job_init(&job, PIPETRACE_FORWARD);
  for (const std::int32_t phase : std::vector<std::int32_t>{
           PIPETRACE_PREDICT, 3, -1, PIPETRACE_EVALUATE, PIPETRACE_TRAINING}) {
    pipetrace_set_phase(recorder, phase);
    pipetrace_begin(recorder, 0, &job);
    pipetrace_end(recorder, 0);
  }
  pipetrace_set_phase(nullptr, PIPETRACE_EVALUATE);
  EXPECT_EQ(pipetrace_close(recorder), 0);
  EXPECT_THAT(log.lines(kInfo),
              ElementsAre(kIsPrediction, kIsPrediction, kIsPrediction, kIsEvaluation, kIsTraining));
  EXPECT_EQ(log.number(kEnd, "misuses"), 2);
}

}  // namespace
}  // namespace pipetrace
