// Jobs of Kineto traces lie where the device ran them.
#include <gmock/gmock.h>

#include "parser/foreign/names/given_names.h"
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
using testing::SizeIs;

/// The argument of an event as text, without argument "".
std::string argument(const test::Reading& r, const Event& event, std::string_view key) {
  for (const Argument& each : r.timeline.argumentsOf(event)) {
    if (r.timeline.strings[each.key] != key) continue;
    if (each.type == ArgumentType::kInteger) return std::to_string(each.integer);
    return std::string(r.timeline.strings[each.text]);
  }
  return "";
}

/// "forward 3: 100 to 130": kind, micro-batch and times in microseconds of the compute jobs.
std::vector<std::string> jobs(const test::Reading& r) {
  std::vector<std::string> list;
  for (const Event& job : r.events(0, kComputeLane)) {
    list.push_back(std::string(logName(job.kind)) + " " + std::to_string(job.microBatch) + ": " +
                   kinetoTimes(job));
  }
  return list;
}

TEST(KinetoDeviceTime, JobLastsFromTheFirstStartToTheLastEndOfItsWork) {
  KinetoText trace;
  trace.annotation("PP:1F3", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2})
      .launch(2, {.begin = 15, .length = 2})
      .launch(3, {.begin = 29, .length = 2})  // ends after the annotation
      .launch(4, {.begin = 30, .length = 2})  // begins as it ends: of no job
      .kernel(1, {.begin = 100, .length = 10})
      .copy(2, {.begin = 112, .length = 3})
      .kernel(3, {.begin = 120, .length = 10})
      .kernel(4, {.begin = 140, .length = 10});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("forward 3: 100 to 130"));
  const Event& job = r.events(0, kComputeLane)[0];
  namespace keys = device_arguments;
  EXPECT_EQ(argument(r, job, keys::kHostBegin), std::to_string(KinetoText::kBegin + 10'000));
  EXPECT_EQ(argument(r, job, keys::kHostEnd), std::to_string(KinetoText::kBegin + 30'000));
  EXPECT_EQ(argument(r, job, keys::kKernels), "2");
  EXPECT_EQ(argument(r, job, keys::kDeviceBusy), "23000");
  EXPECT_EQ(argument(r, job, keys::kCommInside), "0");
  EXPECT_EQ(argument(r, job, keys::kTime), "");

  const auto& work = r.events(0, "stream 7");
  ASSERT_THAT(work, SizeIs(4));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(work[i].job, job.job);
  EXPECT_EQ(work[3].job, kNotGiven);
  EXPECT_THAT(
      r.diagnostics,
      Contains(HasSubstr("1 of 4 kernels and copies belong to no job: 1 launched outside")));
}

TEST(KinetoDeviceTime, DataLoaderInsideAJobIsAJobOfTheHost) {
  KinetoText trace;
  trace.annotation("PP:0F3", {.begin = 10, .length = 90})
      .annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                  {.begin = 12, .length = 50})
      .launch(1, {.begin = 70, .length = 2})
      .kernel(1, {.begin = 100, .length = 10});
  EXPECT_THAT(jobs(readKineto(trace)), ElementsAre("data -1: 12 to 62", "forward 3: 100 to 110"));
}

TEST(KinetoDeviceTime, AnnotationsOfJobsStayOnTheLaneHostWithTheNumbersOfTheirJobs) {
  KinetoText trace;
  trace.annotation("forward", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2})
      .kernel(1, {.begin = 100, .length = 10});
  const test::Reading r = readKineto(trace);
  const auto& host = r.events(0, kHostLane);
  ASSERT_THAT(host, SizeIs(1));
  EXPECT_EQ(host[0].begin, KinetoText::kBegin + 10'000);
  EXPECT_EQ(host[0].end, KinetoText::kBegin + 30'000);
  EXPECT_EQ(host[0].kind, JobKind::kOther) << "it is no second job";
  EXPECT_EQ(r.timeline.strings[host[0].name], "forward");
  EXPECT_EQ(host[0].job, r.events(0, kComputeLane)[0].job);
}

TEST(KinetoDeviceTime, HostTimesAreThoseOfTheAnnotations) {
  KinetoText trace;
  trace.annotation("forward 3", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2})
      .kernel(1, {.begin = 100, .length = 10});
  const test::Reading r = readKineto(trace, JobTime::kHost);
  EXPECT_THAT(jobs(r), ElementsAre("forward 3: 10 to 30"));
  EXPECT_THAT(r.events(0, kHostLane), IsEmpty());
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(KinetoDeviceTime, DeviceTimesOfATraceWithoutADeviceAreReportedAsMissing) {
  KinetoText trace;
  trace.annotation("forward 3", {.begin = 10, .length = 20}).operation("aten::mm", {.begin = 12});
  EXPECT_THAT(readKineto(trace).diagnostics, IsEmpty());
  const test::Reading r = readKineto(trace, JobTime::kDevice);
  EXPECT_THAT(jobs(r), ElementsAre("forward 3: 10 to 30"));
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("no work on a device")));
}

TEST(KinetoDeviceTime, CommunicationIsNoPartOfAJobButExplainsItsIdleTime) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 30});
  for (int i = 1; i <= 4; ++i) trace.launch(i, {.begin = 10 + i, .length = 1});
  trace.kernel(1, {.begin = 100, .length = 10})
      .kernel(2, {.stream = 20, .begin = 105, .length = 20}, "ncclDevKernel_AllReduce_Sum_f32")
      .kernel(3, {.begin = 130, .length = 10})
      .kernel(4, {.stream = 20, .begin = 135, .length = 50}, "ncclDevKernel_AllGather_RING");
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("forward 0: 100 to 140"));
  const Event& job = r.events(0, kComputeLane)[0];
  // 20 us of 40 are busy; of the other 20 the all-reduce runs in those from 110 to 125.
  EXPECT_EQ(argument(r, job, device_arguments::kDeviceBusy), "20000");
  EXPECT_EQ(argument(r, job, device_arguments::kCommInside), "15000");
  EXPECT_EQ(argument(r, job, device_arguments::kKernels), "2");
  EXPECT_EQ(r.events(0, "stream 20").at(0).kind, JobKind::kAllReduce);
}

TEST(KinetoDeviceTime, CopiesOnAStreamWithoutKernelsDoNotMoveTheEdgesOfAJob) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 30})
      .launch(1, {.begin = 11, .length = 1}, "cudaMemcpyAsync")
      .launch(2, {.begin = 12, .length = 1})
      .copy(1, {.stream = 30, .begin = 50, .length = 10})
      .kernel(2, {.begin = 100, .length = 10});
  EXPECT_THAT(jobs(readKineto(trace)), ElementsAre("forward 0: 100 to 110"));

  KinetoText onlyCopies;
  onlyCopies.annotation("forward 0", {.begin = 10, .length = 30})
      .launch(1, {.begin = 11, .length = 1}, "cudaMemcpyAsync")
      .copy(1, {.stream = 30, .begin = 50, .length = 10});
  EXPECT_THAT(jobs(readKineto(onlyCopies)), ElementsAre("forward 0: 50 to 60"));
}

TEST(KinetoDeviceTime, WorkOfAutogradsThreadBelongsToTheBackwardThatIsOpen) {
  KinetoText trace;
  trace.annotation("backward 0", {.begin = 10, .length = 30})
      .operation("autograd::engine::evaluate_function: MmBackward0",
                 {.thread = 2, .begin = 15, .length = 10})
      .launch(1, {.thread = 2, .begin = 16, .length = 1})
      .launch(2, {.thread = 2, .begin = 32, .length = 1})  // a callback after the last operator
      .launch(3, {.thread = 3, .begin = 20, .length = 1})  // a thread without autograd
      .launch(4, {.thread = 2, .begin = 50, .length = 1})  // no backward is open
      .kernel(1, {.begin = 100, .length = 10})
      .kernel(2, {.begin = 120, .length = 10})
      .kernel(3, {.begin = 140, .length = 10})
      .kernel(4, {.begin = 160, .length = 10});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("backward 0: 100 to 130"));
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("2 launched outside of any job")));
}

TEST(KinetoDeviceTime, ForwardThatIsOpenGetsNoWorkOfAutogradsThread) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 30})
      .operation("autograd::engine::evaluate_function: MmBackward0",
                 {.thread = 2, .begin = 15, .length = 10})
      .launch(1, {.thread = 2, .begin = 16, .length = 1})
      .launch(2, {.thread = 1, .begin = 18, .length = 1})
      .kernel(1, {.begin = 100, .length = 10})
      .kernel(2, {.begin = 120, .length = 10});
  EXPECT_THAT(jobs(readKineto(trace)), ElementsAre("forward 0: 120 to 130"));
}

/// Two threads with a forward each and then a backward each, both open while autograd's thread 3
/// launches work 1 (of micro-batch 0's backward) and work 2 (of micro-batch 1's).
KinetoText twoBackwardsAtOnce() {
  KinetoText trace;
  trace.annotation("PP:0F0", {.thread = 1, .begin = 0, .length = 9})
      .annotation("PP:0F1", {.thread = 2, .begin = 0, .length = 9})
      .annotation("PP:0B0", {.thread = 1, .begin = 10, .length = 90})
      .annotation("PP:0B1", {.thread = 2, .begin = 10, .length = 90})
      .launch(1, {.thread = 3, .begin = 21, .length = 1})
      .launch(2, {.thread = 3, .begin = 41, .length = 1})
      .kernel(1, {.begin = 200, .length = 10})
      .kernel(2, {.begin = 300, .length = 10});
  return trace;
}

const char* const kEngine = "autograd::engine::evaluate_function: MmBackward0";

TEST(KinetoDeviceTime, ArrowsFromForwardToBackwardDecideBetweenBackwardsThatAreOpen) {
  KinetoText trace = twoBackwardsAtOnce();
  trace.operation(kEngine, {.thread = 3, .begin = 20, .length = 10})
      .operation(kEngine, {.thread = 3, .begin = 40, .length = 10})
      .forwardArrow(1, {.thread = 1, .begin = 5}, {.thread = 3, .begin = 20})
      .forwardArrow(2, {.thread = 2, .begin = 5}, {.thread = 3, .begin = 40});
  EXPECT_THAT(jobs(readKineto(trace)),
              testing::IsSupersetOf({"backward 0: 200 to 210", "backward 1: 300 to 310"}));
}

TEST(KinetoDeviceTime, SequenceNumbersDecideWhereThereAreNoArrows) {
  KinetoText trace = twoBackwardsAtOnce();
  trace.operation("aten::mm", {.thread = 1, .begin = 5, .length = 1}, ",\"Sequence number\":7")
      .operation("aten::mm", {.thread = 2, .begin = 5, .length = 1}, ",\"Sequence number\":8")
      .operation(kEngine, {.thread = 3, .begin = 20, .length = 10},
                 ",\"Sequence number\":7,\"Fwd thread id\":1")
      .operation(kEngine, {.thread = 3, .begin = 40, .length = 10},
                 ",\"Sequence number\":8,\"Fwd thread id\":2");
  EXPECT_THAT(jobs(readKineto(trace)),
              testing::IsSupersetOf({"backward 0: 200 to 210", "backward 1: 300 to 310"}));
}

TEST(KinetoDeviceTime, UndecidedWorkIsCountedAndBelongsToNoJob) {
  KinetoText trace = twoBackwardsAtOnce();
  // Both threads have a forward operator with that number, as each thread counts for itself.
  trace.operation("aten::mm", {.thread = 1, .begin = 5, .length = 1}, ",\"Sequence number\":7")
      .operation("aten::mm", {.thread = 2, .begin = 5, .length = 1}, ",\"Sequence number\":7")
      .operation(kEngine, {.thread = 3, .begin = 20, .length = 30},
                 ",\"Sequence number\":7,\"Fwd thread id\":1");
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), testing::IsSupersetOf({"backward 0: 10 to 100", "backward 1: 10 to 100"}));
  EXPECT_THAT(r.diagnostics,
              Contains(HasSubstr("2 of 2 kernels and copies belong to no job: 2 launched by "
                                 "autograd while several backward passes were open")));
}

TEST(KinetoDeviceTime, JobWithoutWorkHasTheHostsTimesAndSaysSo) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 20})
      .annotation("forward 1", {.begin = 40, .length = 20})
      .launch(1, {.begin = 11, .length = 2})
      .launch(2, {.begin = 41, .length = 2})  // nothing ran
      .kernel(1, {.begin = 100, .length = 10});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("forward 1: 40 to 60", "forward 0: 100 to 110"));
  EXPECT_EQ(argument(r, r.events(0, kComputeLane)[0], device_arguments::kTime), "host");
  EXPECT_EQ(argument(r, r.events(0, kComputeLane)[0], device_arguments::kHostBegin), "");
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("a job launched no work on a device")));
}

TEST(KinetoDeviceTime, WorkWithoutALaunchBelongsToNoJob) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2})
      .kernel(1, {.begin = 100, .length = 10})
      .kernel(77, {.begin = 200, .length = 10});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("forward 0: 100 to 110"));
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("1 without a launch in the trace")));
}

TEST(KinetoDeviceTime, AllWorkOfAGraphBelongsToTheJobThatLaunchedIt) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2}, "cudaGraphLaunch")
      .kernel(1, {.begin = 100, .length = 10})
      .kernel(1, {.begin = 120, .length = 10})
      .kernel(1, {.stream = 8, .begin = 125, .length = 10});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("forward 0: 100 to 135"));
  EXPECT_EQ(argument(r, r.events(0, kComputeLane)[0], device_arguments::kKernels), "3");
  EXPECT_EQ(argument(r, r.events(0, kComputeLane)[0], device_arguments::kDeviceBusy), "25000");
}

TEST(KinetoDeviceTime, CallsOfTheDriverAndOfHipLaunchAsThoseOfTheRuntime) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2}, "cuLaunchKernelEx", "cuda_driver")
      .launch(2, {.begin = 15, .length = 2}, "hipLaunchKernel", "hip_runtime")
      .kernel(1, {.begin = 100, .length = 10})
      .kernel(2, {.begin = 120, .length = 10});
  EXPECT_THAT(jobs(readKineto(trace)), ElementsAre("forward 0: 100 to 130"));
}

TEST(KinetoDeviceTime, CorrelationThatWasUsedTwiceMeansTheLastLaunchBeforeTheWork) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 20})
      .annotation("forward 1", {.begin = 1000, .length = 20})
      .launch(5, {.begin = 11, .length = 2})
      .launch(5, {.begin = 1001, .length = 2})
      .kernel(5, {.begin = 100, .length = 10})
      .kernel(5, {.begin = 1100, .length = 10});
  EXPECT_THAT(jobs(readKineto(trace)),
              ElementsAre("forward 0: 100 to 110", "forward 1: 1100 to 1110"));
}

TEST(KinetoDeviceTime, CorrelationsThatSeveralProcessesUseAreKeptApartByTheirDevices) {
  // Two processes of one trace, each with a device and a count of its own.
  const std::string text = R"j({"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"PP:0F0","pid":91,"tid":1,"ts":10,"dur":20},
{"ph":"X","cat":"user_annotation","name":"PP:0F1","pid":92,"tid":2,"ts":10,"dur":20},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":91,"tid":1,"ts":11,"dur":1,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":92,"tid":2,"ts":12,"dur":1,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":91,"tid":1,"ts":13,"dur":1,"args":{"correlation":5}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":92,"tid":2,"ts":14,"dur":1,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":100,"dur":10,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":200,"dur":10,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":120,"dur":10,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":220,"dur":10,"args":{"correlation":5}}
],"baseTimeNanoseconds": 1700000000000000000})j";
  const auto r = test::readChrome(text);
  EXPECT_THAT(jobs(r), ElementsAre("forward 0: 100 to 130", "forward 1: 200 to 230"));
}

TEST(KinetoDeviceTime, WorkThatBeganBeforeItsLaunchIsReportedAndKept) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 100, .length = 20})
      .launch(1, {.begin = 110, .length = 2})
      .launch(2, {.begin = 114, .length = 2})
      .kernel(1, {.begin = 95, .length = 10})
      .kernel(2, {.begin = 130, .length = 10});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("forward 0: 95 to 140"));
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("began before its launch")));
}

TEST(KinetoDeviceTime, AnnotationThatWasCutOffLastsToTheEndOfItsThread) {
  KinetoText trace;
  trace.openAnnotation("forward 0", {.begin = 10})
      .launch(1, {.begin = 11, .length = 2})
      .launch(2, {.begin = 50, .length = 2})
      .kernel(1, {.begin = 100, .length = 10})
      .kernel(2, {.begin = 120, .length = 10});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("forward 0: 100 to 130"));
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("no `E`")));
}

TEST(KinetoDeviceTime, WorkOfANestedAnnotationBelongsToTheOutermost) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 20})
      .annotation("DistributedDataParallel.forward", {.begin = 12, .length = 10})
      .launch(1, {.begin = 13, .length = 2})
      .launch(2, {.begin = 25, .length = 2})
      .kernel(1, {.begin = 100, .length = 10})
      .kernel(2, {.begin = 120, .length = 10});
  EXPECT_THAT(jobs(readKineto(trace)), ElementsAre("forward 0: 100 to 130"));
}

TEST(KinetoDeviceTime, KindsOfAFileSayWhichOfNestedAnnotationsIsTheJob) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 20})
      .annotation("forward 1", {.begin = 12, .length = 10})
      .launch(1, {.begin = 13, .length = 2})
      .launch(2, {.begin = 25, .length = 2})
      .kernel(1, {.begin = 100, .length = 10})
      .kernel(2, {.begin = 120, .length = 10});
  const KindsFile kinds = KindsFile::parse(R"({"kinds":{"forward 0":"other"}})", "k.json");
  const test::Reading r = test::readChrome(trace.text(), {.kinds = &kinds});
  EXPECT_THAT(jobs(r), ElementsAre("forward 1: 100 to 110"));
}

TEST(KinetoDeviceTime, WithoutLaunchesJobsHaveTheTimesOfTheirImagesOnTheDevice) {
  KinetoText trace;
  trace.annotation("## forward ##", {.begin = 10, .length = 20});
  trace.annotation("DistributedDataParallel.forward", {.begin = 12, .length = 10});
  trace.image("DistributedDataParallel.forward", trace.latestId(), {.begin = 100, .length = 10})
      .image("DistributedDataParallel.forward", trace.latestId(),
             {.stream = 8, .begin = 105, .length = 10})
      .annotation("## backward ##", {.begin = 40, .length = 20})
      .kernel(1, {.begin = 100, .length = 10});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("backward -1: 40 to 60", "forward -1: 100 to 115"));
  EXPECT_EQ(argument(r, r.events(0, kComputeLane)[0], device_arguments::kTime), "host");
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("1 of 2 jobs have the times of their annotations "
                                                "on the device")));
}

TEST(KinetoDeviceTime, WithoutLaunchesAndImagesAWarningSaysWhatTheTimesMean) {
  KinetoText trace;
  trace.annotation("forward 0", {.begin = 10, .length = 20})
      .kernel(1, {.begin = 100, .length = 10});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobs(r), ElementsAre("forward 0: 10 to 30"));
  EXPECT_THAT(r.events(0, kHostLane), IsEmpty());
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("show when work was launched")));
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("ProfilerActivity.CUDA")));
}

constexpr const char* kGroupOfTwo = R"(,"Process Group Ranks":"[0, 1]")";
constexpr const char* kAllReduceKernel = "ncclDevKernel_AllReduce_Sum_f32";
constexpr const char* kGatherKernel = "ncclDevKernel_AllGather_RING";
constexpr const char* kMessageKernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

/// Forward 3 with a kernel from 1000 to 1100 and an all-reduce, whose group `arguments` say, until
/// 1150. Forward 4 with a kernel from 1400 on.
KinetoText reductionAfterForward(const std::string& arguments) {
  KinetoText trace;
  trace.annotation("PP:1F3", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2})
      .launch(2, {.begin = 15, .length = 2})
      .annotation("PP:1F4", {.begin = 40, .length = 40})
      .launch(3, {.begin = 41, .length = 2})
      .kernel(1, {.begin = 1000, .length = 100})
      .kernel(2, {.stream = 20, .begin = 1090, .length = 60}, kAllReduceKernel, arguments)
      .kernel(3, {.begin = 1400, .length = 100});
  return trace;
}

TEST(KinetoDeviceTime, JobLastsUntilItsCollectiveOfSeveralRanksIsOver) {
  const test::Reading r = readKineto(reductionAfterForward(kGroupOfTwo));
  EXPECT_THAT(jobs(r), ElementsAre("forward 3: 1000 to 1150", "forward 4: 1400 to 1500"));
  const Event& job = r.events(0, kComputeLane)[0];
  EXPECT_EQ(argument(r, job, device_arguments::kCommInside), "50000");
  EXPECT_EQ(argument(r, job, device_arguments::kDeviceBusy), "100000");
}

TEST(KinetoDeviceTime, CollectivesThatNameNoOtherRanksChangeNoJob) {
  for (const char* const group : {"", R"(,"Process Group Ranks":"[0]")"}) {
    const test::Reading r = readKineto(reductionAfterForward(group));
    EXPECT_THAT(jobs(r), ElementsAre("forward 3: 1000 to 1100", "forward 4: 1400 to 1500"));
    EXPECT_EQ(argument(r, r.events(0, kComputeLane)[0], device_arguments::kCommInside), "0");
  }
}

TEST(KinetoDeviceTime, CollectivesDoNotChangeTheTimesOfTheHost) {
  EXPECT_THAT(jobs(readKineto(reductionAfterForward(kGroupOfTwo), JobTime::kHost)),
              ElementsAre("forward 3: 10 to 30", "forward 4: 40 to 80"));
}

TEST(KinetoDeviceTime, KernelsAndCopiesOfTheStreamsThatComputeRunBesideACollective) {
  KinetoText kernels = reductionAfterForward(kGroupOfTwo);
  kernels.kernel(9, {.stream = 8, .begin = 1140, .length = 5});
  EXPECT_THAT(jobs(readKineto(kernels)), Contains("forward 3: 1000 to 1100"));
  KinetoText copies = reductionAfterForward(kGroupOfTwo);
  copies.copy(9, {.begin = 1140, .length = 5});
  EXPECT_THAT(jobs(readKineto(copies)), Contains("forward 3: 1000 to 1100"));
  KinetoText others = reductionAfterForward(kGroupOfTwo);
  others.copy(9, {.stream = 30, .begin = 1140, .length = 5})
      .kernel(10, {.stream = 20, .begin = 1145, .length = 5}, kAllReduceKernel);
  EXPECT_THAT(jobs(readKineto(others)), Contains("forward 3: 1000 to 1150"))
      << "a stream of copies and a collective do not compute";
}

TEST(KinetoDeviceTime, JobBeginsWithItsGatherButNotBeforeItsMessageIsThere) {
  KinetoText trace;
  trace.annotation("nccl:recv 1<-0", {.begin = 4, .length = 5})
      .launch(1, {.begin = 5, .length = 2})
      .annotation("PP:1F3", {.begin = 10, .length = 20})
      .launch(2, {.begin = 11, .length = 2})
      .launch(3, {.begin = 15, .length = 2})
      .kernel(2, {.stream = 20, .begin = 800, .length = 150}, kGatherKernel, kGroupOfTwo)
      .kernel(3, {.begin = 1000, .length = 100});
  KinetoText late = trace;
  late.kernel(1, {.stream = 24, .begin = 700, .length = 160}, kMessageKernel);
  EXPECT_THAT(jobs(readKineto(late)), ElementsAre("forward 3: 860 to 1100"));
  trace.kernel(1, {.stream = 24, .begin = 700, .length = 60}, kMessageKernel);
  EXPECT_THAT(jobs(readKineto(trace)), ElementsAre("forward 3: 800 to 1100"));
}

TEST(KinetoDeviceTime, JobThatSendsBeforeItsCollectiveIsOverDoesNotLastUntilThen) {
  // Posted in forward 4: the message counts for the job that made it.
  const auto sentAt = [](std::int64_t begin) {
    KinetoText trace = reductionAfterForward(kGroupOfTwo);
    trace.annotation("PP:1SEND_F3", {.begin = 50, .length = 10})
        .annotation("nccl:send 0->1", {.begin = 51, .length = 8})
        .launch(4, {.begin = 52, .length = 2})
        .kernel(4, {.stream = 24, .begin = begin, .length = 20}, kMessageKernel);
    return readKineto(trace);
  };
  EXPECT_THAT(jobs(sentAt(1149)), Contains("forward 3: 1000 to 1100"));
  EXPECT_THAT(jobs(sentAt(1150)), Contains("forward 3: 1000 to 1150"));
}

TEST(KinetoDeviceTime, AMessageOfAnotherStepOrMicroBatchSaysNothingAboutTheCollective) {
  KinetoText trace = reductionAfterForward(kGroupOfTwo);
  trace.annotation("PP:1SEND_F2", {.begin = 17, .length = 10})
      .annotation("nccl:send 0->1", {.begin = 18, .length = 8})
      .launch(4, {.begin = 20, .length = 2})
      .kernel(4, {.stream = 24, .begin = 1110, .length = 20}, kMessageKernel)
      .annotation("PP:1SEND_F3", {.begin = 34, .length = 5})  // of the step before
      .annotation("nccl:send 0->1", {.begin = 35, .length = 3})
      .launch(5, {.begin = 36, .length = 1})
      .kernel(5, {.stream = 24, .begin = 900, .length = 20}, kMessageKernel);
  EXPECT_THAT(jobs(readKineto(trace)), Contains("forward 3: 1000 to 1150"));
}

TEST(KinetoDeviceTime, TheFirstOfSeveralMessagesThatAJobSendsCounts) {
  KinetoText trace = reductionAfterForward(kGroupOfTwo);
  trace.annotation("PP:1SEND_F3", {.begin = 32, .length = 7})
      .annotation("nccl:send 0->1", {.begin = 33, .length = 2})
      .launch(4, {.begin = 34, .length = 1})
      .kernel(4, {.stream = 24, .begin = 1110, .length = 20}, kMessageKernel)
      .annotation("nccl:send 0->1", {.begin = 36, .length = 2})
      .launch(5, {.begin = 37, .length = 1})
      .kernel(5, {.stream = 24, .begin = 1200, .length = 20}, kMessageKernel);
  EXPECT_THAT(jobs(readKineto(trace)), Contains("forward 3: 1000 to 1100"));
}

TEST(KinetoDeviceTime, AMessageThatIsPostedInTheJobBeforeHoldsUpTheJobThatItIsFor) {
  KinetoText trace;
  trace
      .annotation("PP:1F4", {.begin = 0, .length = 8})  // of the step before
      .launch(5, {.begin = 1, .length = 2})
      .kernel(5, {.begin = 300, .length = 10})
      .annotation("PP:1F3", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2})
      .annotation("PP:1RECV_F4", {.begin = 15, .length = 10})
      .annotation("nccl:recv 1<-0", {.begin = 16, .length = 8})
      .launch(2, {.begin = 17, .length = 2})
      .annotation("PP:1F4", {.begin = 40, .length = 40})
      .launch(3, {.begin = 41, .length = 2})
      .launch(4, {.begin = 45, .length = 2})
      .kernel(1, {.begin = 500, .length = 100})
      .kernel(2, {.stream = 24, .begin = 600, .length = 260}, kMessageKernel)
      .kernel(3, {.stream = 20, .begin = 800, .length = 150}, kGatherKernel, kGroupOfTwo)
      .kernel(4, {.begin = 1000, .length = 100});
  EXPECT_THAT(jobs(readKineto(trace)), ElementsAre("forward 4: 300 to 310", "forward 3: 500 to 600",
                                                   "forward 4: 860 to 1100"));
}

TEST(KinetoDeviceTime, AMessageForAJobThatTheTraceDoesNotHaveHoldsUpNoOther) {
  KinetoText trace;
  trace.annotation("PP:1F3", {.begin = 10, .length = 20})
      .launch(1, {.begin = 11, .length = 2})
      .annotation("PP:1RECV_F4", {.begin = 15, .length = 10})
      .annotation("nccl:recv 1<-0", {.begin = 16, .length = 8})
      .launch(2, {.begin = 17, .length = 2})
      .launch(3, {.begin = 28, .length = 1})
      .kernel(1, {.stream = 20, .begin = 300, .length = 150}, kGatherKernel, kGroupOfTwo)
      .kernel(2, {.stream = 24, .begin = 310, .length = 260}, kMessageKernel)
      .kernel(3, {.begin = 500, .length = 100});
  EXPECT_THAT(jobs(readKineto(trace)), ElementsAre("forward 3: 300 to 600"));
}

}  // namespace
}  // namespace pipetrace
