// Jobs of Kineto traces without a device lie where the host's operators ran.
#include <gmock/gmock.h>

#include "parser/testing/read_chrome.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using test::KinetoText;
using test::kinetoTimes;
using test::readKineto;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string timeArgument(const test::Reading& r, const Event& event, std::string_view key) {
  for (const Argument& each : r.timeline.argumentsOf(event)) {
    if (r.timeline.strings[each.key] != key) continue;
    if (each.type == ArgumentType::kInteger) return test::kinetoTime(each.integer);
    return std::string(r.timeline.strings[each.text]);
  }
  return "";
}

/// "forward 1/3: 100 to 130": kind, stage, micro-batch and times in microseconds of the jobs.
std::vector<std::string> stageJobs(const test::Reading& r) {
  std::vector<std::string> list;
  for (const Event& job : r.events(0, kComputeLane)) {
    list.push_back(std::string(logName(job.kind)) + " " + std::to_string(job.stage) + "/" +
                   std::to_string(job.microBatch) + ": " + kinetoTimes(job));
  }
  return list;
}

KinetoText jobWithAReceive() {
  KinetoText trace;
  trace.annotation("PP:1RECV_F3", {.begin = 0, .length = 10})
      .receive({.posted = 2, .end = 500})
      .annotation("PP:1F3", {.begin = 20, .length = 980})
      .operation("aten::mm", {.begin = 600, .length = 100})
      .operation("aten::relu", {.begin = 800, .length = 100})
      .operation("aten::add", {.begin = 990, .length = 20});  // ends after the job
  return trace;
}

TEST(KinetoHostOnly, JobLastsFromTheFirstToTheLastOperatorAfterItsReceive) {
  const test::Reading r = readKineto(jobWithAReceive());
  EXPECT_THAT(stageJobs(r), ElementsAre("forward 1/3: 600 to 900"));
  const Event& job = r.events(0, kComputeLane)[0];
  EXPECT_EQ(timeArgument(r, job, device_arguments::kHostBegin), "20");
  EXPECT_EQ(timeArgument(r, job, device_arguments::kHostEnd), "1000");
  EXPECT_EQ(timeArgument(r, job, device_arguments::kTime), "");
}

TEST(KinetoHostOnly, HostTimesAreThoseOfTheAnnotations) {
  const test::Reading r = readKineto(jobWithAReceive(), JobTime::kHost);
  EXPECT_THAT(stageJobs(r), ElementsAre("forward 1/3: 20 to 1000"));
  EXPECT_THAT(r.events(0, kRecvLane), IsEmpty());
  EXPECT_EQ(timeArgument(r, r.events(0, kComputeLane)[0], device_arguments::kHostBegin), "");
}

TEST(KinetoHostOnly, ReceiveInsideTheJobAndOperatorsOfTorchDistributedAreNoWork) {
  KinetoText trace;
  trace.annotation("Forward 3", {.begin = 0, .length = 1000})
      .operation("aten::empty", {.begin = 1, .length = 1})
      .receive({.posted = 2, .end = 500, .backend = "nccl"})
      .operation("aten::mm", {.begin = 600, .length = 100})
      .send({.posted = 900, .end = 1500});
  EXPECT_THAT(stageJobs(readKineto(trace)), ElementsAre("forward -1/3: 600 to 700"));
}

TEST(KinetoHostOnly, JobsOfOtherNamesKeepTheirAnnotationUnlessTheyReceive) {
  KinetoText trace;
  trace.annotation("forward", {.begin = 0, .length = 100})
      .operation("aten::mm", {.begin = 20, .length = 10})
      .annotation("backward", {.begin = 200, .length = 1000})
      .receive({.posted = 202, .end = 600})
      .operation("aten::mm", {.begin = 700, .length = 10});
  EXPECT_THAT(stageJobs(readKineto(trace)),
              ElementsAre("forward -1/-1: 0 to 100", "backward -1/-1: 700 to 710"));
}

TEST(KinetoHostOnly, JobWithoutOperatorsKeepsTheTimesAfterItsReceiveAndSaysSo) {
  KinetoText trace;
  trace.annotation("PP:1RECV_F3", {.begin = 0, .length = 10})
      .receive({.posted = 2, .end = 500})
      .annotation("PP:1F3", {.begin = 20, .length = 980})
      .annotation("PP:1I3", {.begin = 2000, .length = 100});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(stageJobs(r),
              ElementsAre("forward 1/3: 500 to 1000", "backward_input 1/3: 2000 to 2100"));
  EXPECT_EQ(timeArgument(r, r.events(0, kComputeLane)[0], device_arguments::kTime),
            device_arguments::kTimeOfHost);
}

constexpr const char* kLoader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

TEST(KinetoHostOnly, DataLoaderInsideAJobIsAJobOfItsOwnBeforeIt) {
  KinetoText trace;
  trace.annotation("PP:0F3", {.begin = 0, .length = 1000})
      .operation("aten::zeros", {.begin = 5, .length = 1})
      .annotation(kLoader, {.begin = 10, .length = 500})
      .operation("aten::randint", {.begin = 400, .length = 100})  // of the loader
      .operation("aten::mm", {.begin = 600, .length = 300});
  EXPECT_THAT(stageJobs(readKineto(trace)),
              ElementsAre("data -1/-1: 10 to 510", "forward 0/3: 600 to 900"));
}

TEST(KinetoHostOnly, DataLoaderBehindTheWorkOfAJobDoesNotMoveIt) {
  KinetoText trace;
  trace.annotation("PP:0F3", {.begin = 0, .length = 1000})
      .operation("aten::mm", {.begin = 10, .length = 300})
      .annotation(kLoader, {.begin = 400, .length = 500})
      .operation("aten::zeros", {.begin = 950, .length = 10});
  EXPECT_THAT(stageJobs(readKineto(trace)),
              ElementsAre("forward 0/3: 10 to 960", "data -1/-1: 400 to 900"));
}

TEST(KinetoHostOnly, DataLoaderBeforeTheFirstJobIsAJob) {
  KinetoText trace;
  trace.annotation(kLoader, {.begin = 10, .length = 500})
      .annotation("PP:0F3", {.begin = 600, .length = 100})
      .operation("aten::mm", {.begin = 610, .length = 50});
  EXPECT_THAT(stageJobs(readKineto(trace)),
              ElementsAre("data -1/-1: 10 to 510", "forward 0/3: 610 to 660"));
}

/// A call that receives the messages of two later jobs at once.
TEST(KinetoHostOnly, JobSaysHowLongAfterAWaitForAMessageOfNobodyItBegins) {
  KinetoText trace;
  trace.annotation("PP:0F2", {.begin = 0, .length = 100})
      .operation("aten::mm", {.begin = 10, .length = 80})
      .receive({.posted = 110, .end = 900})
      .annotation("PP:0F3", {.begin = 910, .length = 100})
      .operation("aten::mm", {.begin = 920, .length = 80});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(stageJobs(r), ElementsAre("forward 0/2: 10 to 90", "forward 0/3: 920 to 1000"));
  const auto after = [&](const Event& job) {
    for (const Argument& each : r.timeline.argumentsOf(job)) {
      if (r.timeline.strings[each.key] == message_arguments::kAfterWait) return each.integer;
    }
    return std::int64_t{-1};
  };
  EXPECT_EQ(after(r.events(0, kComputeLane)[0]), -1);
  EXPECT_EQ(after(r.events(0, kComputeLane)[1]), 20'000) << "ns";
}

TEST(KinetoHostOnly, InputHalfOfABackwardWithoutOperatorsIsNoJob) {
  KinetoText trace;
  trace.annotation("PP:0I3", {.begin = 0, .length = 500})
      .annotation("PP:0W3", {.begin = 600, .length = 100})
      .operation("aten::mm", {.begin = 610, .length = 80});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(stageJobs(r), ElementsAre("backward_weight 0/3: 610 to 690"));
  EXPECT_THAT(r.events(0, "thread 1"),
              Contains(testing::Field(&Event::end, KinetoText::kBegin + 500'000)))
      << "its annotation stays on the thread";
}

TEST(KinetoHostOnly, JobsThatOverlapByRoundingFollowEachOther) {
  KinetoText trace;
  trace.annotation("PP:0F0", {.begin = 0, .length = 1000})
      .operation("aten::mm", {.begin = 0, .length = 900})
      .annotation("PP:0F1", {.begin = 999, .length = 1000})
      .operation("aten::mm", {.begin = 1000, .length = 900});
  EXPECT_THAT(stageJobs(readKineto(trace)),
              ElementsAre("forward 0/0: 0 to 900", "forward 0/1: 1000 to 1900"));
}

TEST(KinetoHostOnly, JobsThatGoOnAfterTheNextOneHasBegunAreCutAndCounted) {
  KinetoText trace;
  trace.annotation("PP:0F0", {.begin = 0, .length = 1500})
      .operation("aten::mm", {.begin = 0, .length = 900})
      .annotation("PP:0F1", {.begin = 1000, .length = 1000})
      .operation("aten::mm", {.begin = 1000, .length = 900});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(stageJobs(r), ElementsAre("forward 0/0: 0 to 900", "forward 0/1: 1000 to 1900"));
  EXPECT_EQ(r.timeline.ranks.at(0).overruns, 1);
  EXPECT_EQ(r.timeline.ranks.at(0).overrunTime, 500 * kNsPerUs);
}

TEST(KinetoHostOnly, EventsThatAreThereTwiceAreOneJob) {
  KinetoText trace;
  for (int i = 0; i < 2; ++i) {
    trace.annotation("PP:0F0", {.begin = 0, .length = 1000})
        .operation("aten::mm", {.begin = 0, .length = 900})
        .annotation("PP:0F1", {.begin = 999, .length = 1000})
        .operation("aten::mm", {.begin = 1000, .length = 900});
  }
  EXPECT_THAT(stageJobs(readKineto(trace)),
              ElementsAre("forward 0/0: 0 to 900", "forward 0/1: 1000 to 1900"));
}

KinetoText fusedPair() {
  KinetoText trace;
  trace.annotation("PP:(0F7;6B3)OVERLAP_F_B", {.begin = 20, .length = 980})
      .operation("aten::mm", {.begin = 100, .length = 200});
  return trace;
}

TEST(KinetoHostOnly, FusedPairIsAForwardAndThenABackwardAfterItsReceive) {
  KinetoText trace = fusedPair();
  trace.annotation("PP:6RECV_B3", {.begin = 0, .length = 10})
      .receive({.posted = 2, .end = 500})
      .operation("aten::ones_like", {.begin = 600, .length = 10})
      .operation("autograd::engine::evaluate_function: MmBackward0", {.begin = 700, .length = 100});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(stageJobs(r), ElementsAre("forward 0/7: 100 to 300", "backward 6/3: 600 to 800"));
  EXPECT_EQ(r.timeline.strings[r.events(0, kComputeLane)[0].name], "PP:0F7");
  EXPECT_EQ(r.timeline.strings[r.events(0, kComputeLane)[1].name], "PP:6B3");
}

TEST(KinetoHostOnly, FusedPairWithoutAReceiveIsCutWhereAutogradBegins) {
  KinetoText trace = fusedPair();
  trace.operation("autograd::engine::evaluate_function: MmBackward0",
                  {.begin = 700, .length = 100});
  EXPECT_THAT(stageJobs(readKineto(trace)),
              ElementsAre("forward 0/7: 100 to 300", "backward 6/3: 700 to 800"));
}

TEST(KinetoHostOnly, FusedPairThatCannotBeCutStaysOneJob) {
  EXPECT_THAT(stageJobs(readKineto(fusedPair())), ElementsAre("forward_backward 0/7: 100 to 300"));
}

KinetoText nestedJobs() {
  KinetoText trace;
  trace.annotation("Forward 3", {.begin = 0, .length = 1000})
      .receive({.posted = 2, .end = 300})
      .annotation("PP:2F3", {.begin = 400, .length = 500})
      .operation("aten::mm", {.begin = 450, .length = 100})
      .operation("aten::sub", {.begin = 950, .length = 10})
      .annotation("PP:2B3", {.begin = 2000, .length = 1000})
      .annotation("forward", {.begin = 2010, .length = 20})
      .annotation("PP:2B3", {.begin = 2100, .length = 500})
      .operation("aten::mm", {.begin = 2200, .length = 100});
  return trace;
}

TEST(KinetoHostOnly, AnnotationsOfJobsInsideASchedulesOwnAreTheJobs) {
  const test::Reading r = readKineto(nestedJobs());
  EXPECT_THAT(stageJobs(r), ElementsAre("forward 2/3: 450 to 550", "backward 2/3: 2200 to 2300"));
  EXPECT_EQ(timeArgument(r, r.events(0, kComputeLane)[0], device_arguments::kHostBegin), "400");
  ASSERT_THAT(r.events(0, kRecvLane), testing::SizeIs(1));
  EXPECT_EQ(r.events(0, kRecvLane)[0].job, r.events(0, kComputeLane)[0].job);
}

TEST(KinetoHostOnly, HostTimesOfNestedAnnotationsAreThoseOfTheOutermost) {
  EXPECT_THAT(stageJobs(readKineto(nestedJobs(), JobTime::kHost)),
              ElementsAre("forward -1/3: 0 to 1000", "backward 2/3: 2000 to 3000"));
}

TEST(KinetoHostOnly, ScheduleSaysWhetherTheBackwardInsideIsAHalf) {
  KinetoText trace;
  trace.annotation("PP:2I3", {.begin = 0, .length = 1000})
      .annotation("PP:2B3", {.begin = 100, .length = 500})
      .operation("aten::mm", {.begin = 200, .length = 100});
  EXPECT_THAT(stageJobs(readKineto(trace)), ElementsAre("backward_input 2/3: 200 to 300"));
}

TEST(KinetoHostOnly, FusedPairWithAnnotationsInsideIsThoseJobs) {
  KinetoText trace = fusedPair();
  trace.annotation("PP:0F7", {.begin = 50, .length = 300})
      .annotation("PP:6B3", {.begin = 500, .length = 300})
      .operation("aten::mm", {.begin = 600, .length = 100});
  EXPECT_THAT(stageJobs(readKineto(trace)),
              ElementsAre("forward 0/7: 100 to 300", "backward 6/3: 600 to 700"));
}

TEST(KinetoHostOnly, OutermostOfOtherAnnotationsIsTheJob) {
  KinetoText trace;
  trace.annotation("forward", {.begin = 0, .length = 1000})
      .annotation("PP:2F3", {.begin = 100, .length = 500})
      .operation("aten::mm", {.begin = 200, .length = 100});
  EXPECT_THAT(stageJobs(readKineto(trace)), ElementsAre("forward -1/-1: 0 to 1000"));
}

TEST(KinetoHostOnly, AnnotationsInsideASchedulesOwnAreTheJobsOnADeviceAsWell) {
  KinetoText trace;
  trace.annotation("Forward 3", {.begin = 0, .length = 100})
      .annotation("PP:2F3", {.begin = 40, .length = 50})
      .launch(1, {.begin = 50, .length = 2})
      .launch(2, {.begin = 95, .length = 2})
      .kernel(1, {.begin = 200, .length = 10})
      .kernel(2, {.begin = 300, .length = 10});
  EXPECT_THAT(stageJobs(readKineto(trace)), ElementsAre("forward 2/3: 200 to 210"));
}

/// Two micro-batches that wait for 4 ms and then take 20 ms, of which the operators take `filled`.
KinetoText jobsFilledFor(std::int64_t filled) {
  KinetoText trace;
  for (const std::int64_t begin : {0, 30'000}) {
    trace.annotation("PP:1F3", {.begin = begin, .length = 24'000})
        .receive({.posted = begin + 2, .end = begin + 4000})
        .operation("aten::mm", {.begin = begin + 4100, .length = filled});
  }
  return trace;
}

TEST(KinetoHostOnly, JobsThatOperatorsHardlyFillGetAWarningThatNamesTheOtherTimes) {
  EXPECT_THAT(readKineto(jobsFilledFor(130)).diagnostics,
              Contains(AllOf(HasSubstr("counts as idle time: stage 1 forward 0 %"),
                             HasSubstr("--time host"))));
  EXPECT_THAT(readKineto(jobsFilledFor(14'000)).diagnostics,
              Contains(HasSubstr("stage 1 forward 70 %")));
  KinetoText ofNoStage;
  ofNoStage.rank(2, 4)
      .annotation("Backward 3", {.begin = 0, .length = 10'000})
      .operation("aten::mm", {.begin = 100, .length = 1000});
  EXPECT_THAT(readKineto(ofNoStage).diagnostics, Contains(HasSubstr("rank 2 backward 10 %")));
}

TEST(KinetoHostOnly, JobsThatOperatorsFillExceptForPythonsShareGetNoWarning) {
  const auto idle = HasSubstr("counts as idle time");
  EXPECT_THAT(readKineto(jobsFilledFor(16'000)).diagnostics, Not(Contains(idle)))
      << "80 % of what is left after the wait";
  EXPECT_THAT(readKineto(jobsFilledFor(130), JobTime::kHost).diagnostics, Not(Contains(idle)));
  KinetoText small;
  small.annotation("PP:1F3", {.begin = 0, .length = 500})
      .operation("aten::mm", {.begin = 200, .length = 100});
  EXPECT_THAT(readKineto(small).diagnostics, Not(Contains(idle)));
}

KinetoText messagesWithoutAJob() {
  KinetoText trace;
  trace.receive({.posted = 2, .end = 300})
      .operation("aten::mm", {.begin = 400, .length = 10})
      .annotation("Optimizer.step#SGD.step", {.begin = 500, .length = 10});
  return trace;
}

TEST(KinetoHostOnly, TraceWithMessagesAndWithoutAJobNamesThePagesThatMayHelp) {
  EXPECT_THAT(
      readKineto(messagesWithoutAJob()).diagnostics,
      Contains(AllOf(HasSubstr("sends and receives and no job"), HasSubstr("docs/inputs.md"),
                     HasSubstr("docs/inputs/torch.md"), HasSubstr("docs/inputs/deepspeed.md"))));
  EXPECT_THAT(readKineto(jobWithAReceive()).diagnostics, Not(Contains(HasSubstr("no job"))));
}

TEST(KinetoHostOnly, TraceWithStacksAndWithoutAJobNamesThePageOfItsProgram) {
  KinetoText deepSpeed = messagesWithoutAJob();
  deepSpeed.operation("deepspeed/runtime/pipe/engine.py(1431): _exec_schedule",
                      {.begin = 0, .length = 600});
  EXPECT_THAT(readKineto(deepSpeed).diagnostics,
              Contains(AllOf(HasSubstr("docs/inputs/deepspeed.md"), Not(HasSubstr("torch.md")))));
  KinetoText torch = messagesWithoutAJob();
  torch.operation("torch/distributed/pipelining/schedules.py(600): step",
                  {.begin = 0, .length = 600});
  EXPECT_THAT(readKineto(torch).diagnostics,
              Contains(AllOf(HasSubstr("docs/inputs/torch.md"), Not(HasSubstr("deepspeed.md")))));
}

TEST(KinetoHostOnly, MarksOfCollectivesCountOnlyWhereSomethingIsSent) {
  KinetoText trace;
  trace.annotation("PP:1UNSHARD", {.begin = 0, .length = 10})
      .annotation("PP:1F0", {.begin = 20, .length = 100})
      .operation("aten::mm", {.begin = 30, .length = 80})
      .annotation("PP:5UNSHARD", {.begin = 200, .length = 100})
      .operation("c10d::_allgather_base_", {.begin = 210, .length = 80})
      .annotation("PP:1REDUCE_GRAD", {.begin = 400, .length = 100})
      .operation("aten::div_", {.begin = 410, .length = 10})
      .operation("c10d::_reduce_scatter_base_", {.begin = 600, .length = 10});
  std::vector<std::string> collectives;
  const test::Reading r = readKineto(trace);
  for (const Event& event : r.events(0, "thread 1")) {
    if (isCollective(event.kind)) collectives.emplace_back(r.timeline.strings[event.name]);
  }
  EXPECT_THAT(collectives, ElementsAre("PP:5UNSHARD"));
}

// Advice and pauses depend on it: a processor has no streams that hide a late launch.
TEST(KinetoHostOnly, RankOfGlooWithoutADeviceRunsOnAProcessor) {
  const auto deviceOf = [](const std::string& backend, bool withKernel) {
    KinetoText trace;
    trace.rank(0, 2, "", backend)
        .annotation("PP:1F0", {.begin = 20, .length = 100})
        .operation("aten::mm", {.begin = 30, .length = 80});
    if (withKernel)
      trace.launch(1, {.begin = 40, .length = 5}).kernel(1, {.begin = 60, .length = 50});
    return readKineto(trace).timeline.ranks.at(0).device;
  };
  EXPECT_EQ(deviceOf("gloo", false), "cpu");
  EXPECT_NE(deviceOf("gloo", true), "cpu");
  EXPECT_NE(deviceOf("nccl", false), "cpu");
}

}  // namespace
}  // namespace pipetrace
