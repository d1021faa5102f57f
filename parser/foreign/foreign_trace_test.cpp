#include <gmock/gmock.h>

#include <map>

#include "parser/foreign/names/foreign_names.h"
#include "parser/foreign/names/given_names.h"
#include "parser/load_timeline.h"
#include "parser/testing/read_chrome.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

using test::readChrome;
using Result = test::Reading;

std::string_view nameOf(const Result& r, const Event& event) {
  return r.timeline.strings[event.name];
}

TEST(KnownTracesTest, AKinetoFileWithoutItsBaseIsReportedToLackTimesOfTheEpoch) {
  const auto reported = [](const std::string& head, const std::string& time) {
    const Result r =
        readChrome(head + R"("traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm",)" +
                   R"("pid":9,"tid":1,"dur":3,"ts":)" + time + "},");
    EXPECT_EQ(r.outcome.events, 1);
    return r.diagnostics;
  };
  const auto lacks = Contains(HasSubstr("lacks baseTimeNanoseconds"));
  EXPECT_THAT(reported("{", "22"), lacks);
  EXPECT_THAT(reported(R"({"distributedInfo": {"rank": 3},)", "22"), lacks);
  EXPECT_THAT(reported("{", "1700000000000000.5"), Not(lacks));  // as PyTorch wrote it before
  EXPECT_THAT(reported(R"({"baseTimeNanoseconds": 1700000000000000000,)", "22"), Not(lacks));
}

TEST(KnownTracesTest, AKinetoFileIsTheRankThatItNames) {
  const Result r = readChrome(R"j({"schemaVersion":1,
"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
"traceEvents":[
{"ph":"M","name":"process_name","pid":99,"tid":0,"args":{"name":"python"}},
{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
{"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7 "}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":99,"tid":1,"ts":10.001,"dur":90},
{"ph":"X","cat":"user_annotation","name":"## forward ##","pid":99,"tid":1,"ts":20,"dur":30},
{"ph":"X","cat":"user_annotation","name":"DistributedDataParallel.forward","pid":99,"tid":1,"ts":21,"dur":28},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":99,"tid":1,"ts":22,"dur":3,"args":{"External id":5}},
{"ph":"X","cat":"cpu_op","name":"c10d::allreduce_","pid":99,"tid":1,"ts":26,"dur":3,"args":{"External id":6}},
{"ph":"X","cat":"user_annotation","name":"Backward 2","pid":99,"tid":1,"ts":60,"dur":20},
{"ph":"X","cat":"user_annotation","name":"Optimizer.step#SGD.step","pid":99,"tid":1,"ts":120,"dur":20},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":205,"dur":9,"args":{"External id":5}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)","pid":0,"tid":7,"ts":215,"dur":9,"args":{"External id":6}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pinned)","pid":0,"tid":7,"ts":225,"dur":1},
{"ph":"X","cat":"gpu_user_annotation","name":"## forward ##","pid":0,"tid":7,"ts":205,"dur":9}
],"baseTimeNanoseconds": 1700000000000000000,"displayTimeUnit": "ms"})j");
  EXPECT_EQ(r.outcome.events, 11);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("the trace has no launches")));
  ASSERT_THAT(r.timeline.ranks, SizeIs(1));
  EXPECT_EQ(r.timeline.ranks.at(3).worldSize, 8);
  EXPECT_EQ(r.timeline.ranks.at(3).device, "GPU 0");

  const auto& jobs = r.events(3, "compute");
  ASSERT_THAT(jobs, SizeIs(3));
  EXPECT_EQ(jobs[0].kind, JobKind::kForward);
  EXPECT_EQ(jobs[0].begin, 1'700'000'000'000'020'000);
  EXPECT_EQ(jobs[0].step, 4);
  EXPECT_EQ(jobs[1].kind, JobKind::kBackward);
  EXPECT_EQ(jobs[1].microBatch, 2);
  EXPECT_EQ(jobs[2].kind, JobKind::kOptimizer);
  EXPECT_EQ(jobs[2].step, kNotGiven) << "it is after the only step";

  for (const Event& e : r.events(3, "thread 1")) EXPECT_EQ(e.kind, JobKind::kOther) << nameOf(r, e);
  const auto& stream = r.events(3, "stream 7");
  ASSERT_THAT(stream, SizeIs(3));
  EXPECT_EQ(stream[0].kind, JobKind::kKernel);
  EXPECT_EQ(stream[0].step, 4) << "of the operator that launched it";
  EXPECT_EQ(stream[1].kind, JobKind::kOther) << "an annotation's image on the device";
  EXPECT_EQ(stream[2].kind, JobKind::kCopy);
  const auto& communication = r.events(3, "nccl");
  ASSERT_THAT(communication, SizeIs(1));
  EXPECT_EQ(communication[0].kind, JobKind::kAllReduce);
}

TEST(KnownTracesTest, SeveralDevicesOfAKinetoFileHaveLanesOfTheirOwn) {
  const Result r = readChrome(R"j([
{"ph":"M","name":"process_labels","pid":0,"args":{"labels":"GPU 0"}},
{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"GPU 1"}},
{"ph":"X","cat":"cpu_op","name":"a","pid":9,"tid":1,"ts":1,"dur":1},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1},
{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":1,"dur":1}])j",
                              {.nextRank = 5});
  EXPECT_THAT(r.events(5, "GPU 0 stream 7"), SizeIs(1));
  EXPECT_THAT(r.events(5, "GPU 1 stream 7"), SizeIs(1));
  EXPECT_THAT(r.events(5, "thread 1"), SizeIs(1));
}

TEST(KnownTracesTest, MegatronAppsProcessesAreRanksAndPositionsStages) {
  const Result r = readChrome(R"j([
{"name":"forward","ph":"B","ts":1,"pid":1,"tid":0,"args":{"iteration":3}},
{"name":"forward","ph":"E","ts":4,"pid":1,"tid":0,"args":{"iteration":3,"microbatch":5,"model_chunk":1,"pp_rank":1}},
{"name":"forward","ph":"B","ts":0,"pid":0,"tid":0,"args":{"iteration":3}},
{"name":"forward","ph":"E","ts":1,"pid":0,"tid":0,"args":{"iteration":3,"microbatch":5,"model_chunk":0,"pp_rank":0}}])j");
  ASSERT_THAT(r.events(1, "compute"), SizeIs(1));
  const Event& e = r.events(1, "compute")[0];
  EXPECT_EQ(e.kind, JobKind::kForward);
  EXPECT_EQ(e.step, 3);
  EXPECT_EQ(e.microBatch, 5);
  EXPECT_EQ(e.chunk, 1);
  EXPECT_EQ(e.stage, 3) << "chunk 1 of two positions, position 1";
  EXPECT_EQ(e.argumentCount, 0);
  EXPECT_EQ(e.name, 0U);
  EXPECT_EQ(r.timeline.ranks.at(0).numStages, 4);
  EXPECT_EQ(r.timeline.ranks.at(0).numChunks, 2);
}

TEST(KnownTracesTest, StagesThatAreNoPositionsStayAsTheyAre) {
  const Result r = readChrome(R"j([
{"ph":"X","name":"forward","pid":1,"tid":1,"ts":1,"dur":1,"args":{"step":0,"stage":5,"chunk":1}}])j");
  EXPECT_EQ(r.events(0, "compute").at(0).stage, 5);
}

TEST(KnownTracesTest, NumbersAtTheLimitsOfTheirFieldsDoNoHarm) {
  for (const char* number : {"2147483647", "2147483648", "32767", "32768", "9223372036854775807"}) {
    const std::string n = number;
    readChrome(
        R"j([{"ph":"X","name":"forward","pid":1,"tid":1,"ts":1,"dur":1,"args":{"iteration":)j" + n +
        ",\"microbatch\":" + n + ",\"model_chunk\":" + n + ",\"pp_rank\":" + n + "}}]");
    readChrome(R"j([{"ph":"M","name":"thread_name","pid":1,"tid":)j" + n +
               ",\"args\":{\"name\":\"PP rank " + n + ", TP rank 0, compute\"}}," +
               R"j({"ph":"X","name":"forward-compute","pid":1,"tid":)j" + n +
               ",\"ts\":1,\"dur\":1,\"args\":{\"step\":1,\"mb_id\":" + n + ",\"model_chunk\":" + n +
               "}}]");
  }
}

constexpr const char* kStudy = R"j([
{"ph":"M","name":"process_name","pid":1,"args":{"name":"DP rank [1]"}},
{"ph":"M","name":"thread_name","pid":1,"tid":5,"args":{"name":"PP rank 0, TP rank 0, compute"}},
{"ph":"M","name":"thread_name","pid":1,"tid":6,"args":{"name":"PP rank 0, TP rank 0, pp-comm"}},
{"ph":"M","name":"thread_name","pid":1,"tid":15,"args":{"name":"PP rank 1, TP rank 0, compute"}},
{"ph":"X","name":"forward-compute","cat":"forward-compute","pid":1,"tid":5,"ts":48943.519592285156,"dur":63458.97912979126,"args":{"step":23,"model_chunk":0,"mb_id":2,"seq_id":1}},
{"ph":"X","name":"forward-send","cat":"forward-send","pid":1,"tid":6,"ts":112404,"dur":10,"args":{"step":23,"model_chunk":-1,"mb_id":-1,"seq_id":1}},
{"ph":"X","name":"gc","cat":"gc","pid":1,"tid":15,"ts":112404,"dur":0.0,"args":{"step":23,"model_chunk":-1,"mb_id":0,"seq_id":0}}])j";

TEST(KnownTracesTest, LanesOfTheStragglerStudyNameRanksAndStages) {
  const Result r = readChrome(kStudy);
  ASSERT_THAT(r.events(1, "compute"), SizeIs(1));
  const Event& job = r.events(1, "compute")[0];
  EXPECT_EQ(job.kind, JobKind::kForward);
  EXPECT_EQ(job.begin, 48'943'519);
  EXPECT_EQ(job.duration(), 63'458'979);
  EXPECT_EQ(job.step, 23);
  EXPECT_EQ(job.microBatch, 2);
  EXPECT_EQ(job.stage, 0);
  ASSERT_THAT(r.events(1, "pp-comm"), SizeIs(1));
  const Event& send = r.events(1, "pp-comm")[0];
  EXPECT_EQ(send.kind, JobKind::kSendForward);
  EXPECT_EQ(send.microBatch, 2) << "of the forward job with the same running number";
  EXPECT_EQ(send.peer, 3);
  EXPECT_EQ(r.events(3, "compute").at(0).kind, JobKind::kDefault);
  EXPECT_EQ(r.timeline.ranks.at(3).numStages, 2);
  EXPECT_EQ(r.timeline.ranks.at(3).dataParallelIndex, 1);
}

TEST(KnownTracesTest, LanesOfTheStragglerStudyNameTensorParallelRanks) {
  std::string lanes;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string tid = std::to_string(rank * 5);
    lanes += R"j({"ph":"M","name":"thread_name","pid":0,"tid":)j" + tid +
             R"j(,"args":{"name":"PP rank )j" + std::to_string(rank / 2) + ", TP rank " +
             std::to_string(rank % 2) +
             R"j(, compute"}},{"ph":"X","name":"forward-compute","pid":0,"tid":)j" + tid +
             R"j(,"ts":1,"dur":1,"args":{"step":1,"mb_id":0}},)j";
  }
  lanes.back() = ']';
  const Result r = readChrome("[" + lanes);
  EXPECT_EQ(r.timeline.ranks.at(2).tensorParallelIndex, 0);
  EXPECT_EQ(r.timeline.ranks.at(3).tensorParallelIndex, 1);
  const Topology topology = topologyOf(r.timeline);
  EXPECT_THAT(topology.replicas(),
              ElementsAre(Pair(0, ElementsAre(0, 2)), Pair(1, ElementsAre(1, 3))));
  EXPECT_EQ(topology.places.at(3).position, 1);
  EXPECT_FALSE(readChrome(kStudy).timeline.ranks.at(1).tensorParallelIndex);
}

TEST(KnownTracesTest, JobsOfTheStragglerStudyWithOneMicroBatchAreCounted) {
  const Result r = readChrome(R"j([
{"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"PP rank 0, TP rank 0, compute"}},
{"ph":"X","name":"forward-compute","pid":0,"tid":0,"ts":1,"dur":1,"args":{"step":1,"mb_id":0,"seq_id":0}},
{"ph":"X","name":"forward-compute","pid":0,"tid":0,"ts":3,"dur":1,"args":{"step":1,"mb_id":0,"seq_id":1}},
{"ph":"X","name":"backward-compute","pid":0,"tid":0,"ts":5,"dur":1,"args":{"step":1,"mb_id":0,"seq_id":0}},
{"ph":"X","name":"backward-compute","pid":0,"tid":0,"ts":7,"dur":1,"args":{"step":1,"mb_id":0,"seq_id":1}}])j");
  const auto& jobs = r.events(0, "compute");
  ASSERT_THAT(jobs, SizeIs(4));
  EXPECT_EQ(jobs[0].microBatch, 0);
  EXPECT_EQ(jobs[1].microBatch, 1);
  EXPECT_EQ(jobs[3].microBatch, 1);
  EXPECT_EQ(r.timeline.ranks.at(0).numMicroBatches, 2);
}

TEST(KnownTracesTest, AStragglerStudyFileWithGapsInItsRanksClaimsNoWorldSize) {
  const auto twoRanks = [](const std::string& tidOfTheSecond) {
    return readChrome(R"j([
{"ph":"M","name":"process_name","pid":0,"args":{"name":"DP rank [0]"}},
{"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"PP rank 0, TP rank 0, compute"}},
{"ph":"M","name":"thread_name","pid":0,"tid":)j" +
                      tidOfTheSecond + R"j(,"args":{"name":"PP rank 1, TP rank 0, compute"}},
{"ph":"X","name":"forward-compute","pid":0,"tid":0,"ts":1,"dur":1,"args":{"step":1,"mb_id":0}},
{"ph":"X","name":"forward-compute","pid":0,"tid":)j" +
                      tidOfTheSecond + R"j(,"ts":3,"dur":1,"args":{"step":1,"mb_id":0}}])j");
  };
  const Result gap = twoRanks("10");
  EXPECT_EQ(gap.timeline.ranks.at(0).worldSize, std::nullopt);
  EXPECT_EQ(gap.timeline.ranks.at(2).worldSize, std::nullopt);
  EXPECT_EQ(gap.timeline.ranks.at(2).numStages, 2);
  const Result whole = twoRanks("5");
  EXPECT_EQ(whole.timeline.ranks.at(1).worldSize, 2);
}

TEST(KnownTracesTest, AscendsProcessesAreLanesOfOneRankAndItsTextsNumbers) {
  const Result r = readChrome(R"j([
{"ph":"M","name":"process_name","pid":41,"tid":0,"args":{"name":"Ascend Hardware"}},
{"ph":"M","name":"process_labels","pid":41,"tid":0,"args":{"labels":"NPU"}},
{"ph":"M","name":"process_name","pid":7,"tid":0,"args":{"name":"Python"}},
{"ph":"M","name":"thread_name","pid":41,"tid":2,"args":{"name":"Stream 2"}},
{"ph":"X","name":"MatMulV2","pid":"41","tid":"2","ts":"1697793307213760.986","dur":"12.5","args":{"Task Type":"AI_CORE"}},
{"ph":"X","name":"hcom_allReduce__123_0","pid":41,"tid":2,"ts":"1697793307213773.487","dur":1.25},
{"ph":"X","name":"aten::mm","cat":"other","pid":7,"tid":3,"ts":"1697793307213700.001","dur":2}])j",
                              {.nextRank = 2});
  const auto& stream = r.events(2, "Ascend Hardware: Stream 2");
  ASSERT_THAT(stream, SizeIs(2));
  EXPECT_EQ(stream[0].begin, 1'697'793'307'213'760'986);
  EXPECT_EQ(stream[0].duration(), 12'500);
  EXPECT_EQ(stream[1].kind, JobKind::kAllReduce);
  EXPECT_THAT(r.events(2, "Python: thread 3"), SizeIs(1));
  EXPECT_EQ(r.timeline.ranks.at(2).device, "NPU");
  EXPECT_THAT(r.timeline.ranks, SizeIs(1));
}

/// The shape of torch_npu's output: its operators have Kineto's category.
TEST(KnownTracesTest, AscendsTraceOfPyTorchIsNotKinetosAndItsHostEventsHaveSteps) {
  const Result r = readChrome(R"j([
{"ph":"M","name":"process_name","pid":7,"tid":0,"args":{"name":"Python"}},
{"ph":"M","name":"process_name","pid":41,"tid":0,"args":{"name":"Ascend Hardware"}},
{"ph":"M","name":"process_name","pid":42,"tid":0,"args":{"name":"CANN"}},
{"ph":"M","name":"thread_name","pid":7,"tid":3,"args":{"name":"Thread 3"}},
{"ph":"M","name":"thread_name","pid":41,"tid":2,"args":{"name":"Stream 2"}},
{"ph":"X","name":"ProfilerStep#7","cat":"cpu_op","pid":7,"tid":3,"ts":"1697793307213700.000","dur":100.5,"args":{}},
{"ph":"X","name":"forward","cat":"cpu_op","pid":7,"tid":3,"ts":"1697793307213710.001","dur":20,"args":{"Sequence number":-1}},
{"ph":"X","name":"Enqueue","cat":"enqueue","pid":7,"tid":3,"ts":"1697793307213900.000","dur":1,"args":{"correlation_id":4}},
{"ph":"s","id":3,"name":"HostToDevice","cat":"HostToDevice","pid":42,"tid":3,"ts":"1697793307213711"},
{"ph":"X","name":"AscendCL@aclnnMatmul","pid":42,"tid":3,"ts":"1697793307213711.5","dur":"2","args":{}},
{"ph":"X","name":"aclnnMatmul_MatMulV3","pid":41,"tid":2,"ts":"1697793307213720.125","dur":12.5,"args":{"Task Type":"AI_CORE"}}])j");
  const auto& host = r.events(0, "Python: Thread 3");
  ASSERT_THAT(host, SizeIs(3));
  EXPECT_EQ(host[1].kind, JobKind::kForward);
  EXPECT_EQ(host[1].step, 7);
  EXPECT_EQ(host[2].step, kNotGiven);  // after the step
  const auto& device = r.events(0, "Ascend Hardware: Stream 2");
  ASSERT_THAT(device, SizeIs(1));
  EXPECT_EQ(device[0].begin, 1'697'793'307'213'720'125);
  EXPECT_EQ(device[0].step, kNotGiven);
  EXPECT_THAT(r.events(0, "CANN: thread 3"), SizeIs(1));
  EXPECT_THAT(r.timeline.ranks, SizeIs(1));
}

TEST(KnownTracesTest, KindsOfTheUserTakePrecedenceOverKnownNames) {
  const KindsFile kinds = KindsFile::parse(
      R"j({"kinds":{"forward":"recompute","blk_(?P<micro_batch_id>[0-9]+)":"forward","net":"all_reduce"}})j",
      "k.json");
  const std::string events = R"j([
{"ph":"X","name":"forward","pid":1,"tid":1,"ts":1,"dur":1},
{"ph":"X","name":"blk_7","pid":1,"tid":1,"ts":3,"dur":1},
{"ph":"X","name":"ring","cat":"net","pid":1,"tid":2,"ts":3,"dur":1},
{"ph":"X","name":"zz","pid":1,"tid":2,"ts":5,"dur":1}])j";
  const Result r = readChrome(events, {.kinds = &kinds});
  const auto& jobs = r.events(0, "compute");
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[0].kind, JobKind::kRecompute);
  EXPECT_EQ(jobs[1].kind, JobKind::kForward);
  EXPECT_EQ(jobs[1].microBatch, 7);
  EXPECT_EQ(nameOf(r, jobs[1]), "blk_7");
  EXPECT_EQ(r.events(0, "thread 2").at(0).kind, JobKind::kAllReduce);
  EXPECT_EQ(r.events(0, "thread 2").at(1).kind, JobKind::kOther);
}

TEST(KnownTracesTest, CategoriesAreKeptAndArrowsCounted) {
  const Result r = readChrome(R"j([
{"ph":"X","name":"a","cat":"my,cat","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":1}},
{"ph":"s","id":1,"pid":1,"tid":1,"ts":1,"cat":"c","name":"n"},
{"ph":"f","id":1,"pid":1,"tid":1,"ts":2,"cat":"c","name":"n","bp":"e"}])j");
  const Event& e = r.events(0, "thread 1").at(0);
  Timeline timeline = r.timeline;
  EXPECT_EQ(timeline.strings[ForeignNames(nullptr, timeline).categoryOf(e)], "my,cat");
  EXPECT_THAT(r.timeline.argumentsOf(e), SizeIs(2));
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("trace.json:3: note: an end of an arrow between "
                                                   "events was left out (2 times)")));
}

/// A `B` and an `E` of PaddlePaddle's records, on lines of their own.
std::string paddleRecord(const std::string& name, int tid, std::int64_t begin, std::int64_t end,
                         const char* between) {
  const auto edge = [&](const char* phase, std::int64_t time) {
    return R"({"name": ")" + name + R"(", "cat": "pipeline timeline", "ph": ")" + phase +
           R"(", "pid": 0, "tid": )" + std::to_string(tid) + R"(, "ts": )" + std::to_string(time) +
           R"(, "cname": "rail_idle"})";
  };
  return edge("B", begin) + between + edge("E", end);
}

TEST(KnownTracesTest, StagesOfPaddlesRecordsAreRanksAndTimesMilliseconds) {
  const std::string comma = ",\n";
  const std::string all =
      "[ " + paddleRecord("F0", 1, 1'718'265'600'000, 1'718'265'600'010, ",\n") + comma +
      paddleRecord("B0", 2, 1'718'265'600'010, 1'718'265'600'030, ",\n") + " ]";
  const Result r = readChrome(all);
  ASSERT_THAT(r.events(0, "compute"), SizeIs(1));
  EXPECT_EQ(r.events(0, "compute")[0].kind, JobKind::kForward);
  EXPECT_EQ(r.events(0, "compute")[0].begin, 1'718'265'600'000 * kNsPerMs);
  EXPECT_EQ(r.events(0, "compute")[0].duration(), 10 * kNsPerMs);
  ASSERT_THAT(r.events(1, "compute"), SizeIs(1));
  EXPECT_EQ(r.events(1, "compute")[0].stage, 1);

  const Result file = readChrome(paddleRecord("F3_VP1", 3, 5, 6, "\n") + "\n");
  ASSERT_THAT(file.events(2, "compute"), SizeIs(1)) << "the records of one rank have no brackets";
  EXPECT_EQ(file.events(2, "compute")[0].microBatch, 3);
  EXPECT_EQ(file.events(2, "compute")[0].chunk, 1);
  EXPECT_THAT(file.diagnostics, IsEmpty());
}

TEST(KnownTracesTest, ActionsOfAPlanThatTorchDumpsAreJobsOfTheirRanks) {
  const Result r = readChrome(R"j({"traceEvents": [
{"name":"0F0","cat":"computation","ph":"X","pid":0,"tid":0,"ts":0,"dur":1},
{"name":"0SEND_F0","cat":"communication","ph":"X","pid":0,"tid":0,"ts":1,"dur":1},
{"name":"0UNSHARD","cat":"communication","ph":"X","pid":0,"tid":0,"ts":2,"dur":1},
{"name":"1B7","cat":"computation","ph":"X","pid":3,"tid":3,"ts":0,"dur":1}]})j");
  ASSERT_THAT(r.events(0, "compute"), SizeIs(1));
  EXPECT_EQ(r.events(0, kSendLane).at(0).kind, JobKind::kSendForward);
  ASSERT_THAT(r.events(3, "compute"), SizeIs(1)) << "the process is the rank";
  EXPECT_EQ(r.events(3, "compute")[0].kind, JobKind::kBackward);
  EXPECT_EQ(r.events(3, "compute")[0].stage, 1);
  EXPECT_EQ(r.events(3, "compute")[0].microBatch, 7);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("it is a plan")));
  const Result other = readChrome(R"j([
{"name":"0F0","cat":"other","ph":"X","pid":0,"tid":0,"ts":0,"dur":1}])j");
  EXPECT_THAT(other.events(0, "compute"), IsEmpty()) << "such a name alone says nothing";
}

TEST(KnownTracesTest, ThreadsOfOneProcessWhoseJobsOverlapAreRanks) {
  const std::string threads = R"j(
{"ph":"X","name":"forward","pid":9,"tid":1,"ts":0,"dur":10},
{"ph":"X","name":"backward","pid":9,"tid":1,"ts":30,"dur":20},
{"ph":"X","name":"forward","pid":9,"tid":2,"ts":5,"dur":10},
{"ph":"X","name":"backward","pid":9,"tid":2,"ts":40,"dur":20})j";
  const Result r = readChrome("[" + threads + "]");
  EXPECT_THAT(r.events(0, "compute"), SizeIs(2));
  EXPECT_THAT(r.events(1, "compute"), SizeIs(2));
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("are taken for ranks 0 to 1")));
  const Result more = readChrome("[" + threads + R"j(,
{"ph":"X","name":"forward","pid":10,"tid":1,"ts":0,"dur":10}])j");
  EXPECT_THAT(more.events(2, "compute"), SizeIs(1)) << "the next process is the next rank";
  const Result streams = readChrome(R"j([
{"ph":"X","name":"forward","pid":9,"tid":1,"ts":0,"dur":10},
{"ph":"X","name":"backward","pid":9,"tid":2,"ts":5,"dur":20}])j");
  EXPECT_THAT(streams.timeline.ranks, SizeIs(1)) << "two streams of one rank may overlap";
}

}  // namespace
}  // namespace pipetrace
