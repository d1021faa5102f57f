// Jobs of Kineto traces without a device that wait for collectives of their ranks.
#include <gmock/gmock.h>

#include "parser/testing/read_chrome.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using test::KinetoText;
using test::kinetoTimes;
using test::readKineto;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kLane = "collectives";
constexpr int kWorker = 8;  // a thread of a process group

/// A mesh of 2 pipeline ranks x 2 tensor-parallel ranks, as rank 1 sees it.
constexpr const char* kMesh =
    R"({"pg_name": "0", "pg_desc": "default_pg", "pg_size": 4, "ranks": [0, 1, 2, 3]},)"
    R"({"pg_name": "2", "pg_desc": "mesh_pp", "pg_size": 2, "ranks": [1, 3]},)"
    R"({"pg_name": "3", "pg_desc": "mesh_tp", "pg_size": 2, "ranks": [1, 0]})";

std::string collectiveArgument(const test::Reading& r, const Event& event, std::string_view key) {
  for (const Argument& each : r.timeline.argumentsOf(event)) {
    if (r.timeline.strings[each.key] != key) continue;
    if (each.type == ArgumentType::kInteger) return std::to_string(each.integer);
    return std::string(r.timeline.strings[each.text]);
  }
  return "";
}

/// "all_reduce of job 0: 100 to 130", times in microseconds.
std::vector<std::string> collectiveWaits(const test::Reading& r) {
  std::vector<std::string> list;
  for (const Event& event : r.events(0, kLane)) {
    list.push_back(std::string(logName(event.kind)) + " of job " + std::to_string(event.job) +
                   ": " + kinetoTimes(event));
  }
  return list;
}

std::vector<std::string> jobTimes(const test::Reading& r) {
  std::vector<std::string> list;
  for (const Event& job : r.events(0, kComputeLane)) {
    list.push_back(std::string(logName(job.kind)) + ": " + kinetoTimes(job));
  }
  return list;
}

/// A job of 20 ms that posts an all-reduce at 1000 µs.
KinetoText jobWithAnAllReduce() {
  KinetoText trace;
  trace.annotation("PP:1F3", {.begin = 0, .length = 20'000})
      .operation("aten::mm", {.begin = 10, .length = 900})
      .operation("c10d::allreduce_", {.begin = 1000, .length = 100});
  return trace;
}

TEST(KinetoCollectives, AWaitLastsFromTheLastOperatorToTheEndOfTheRun) {
  KinetoText trace = jobWithAnAllReduce();
  trace.annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950})
      .operation("aten::mm", {.begin = 1200, .length = 300})
      .operation("aten::add", {.begin = 8150, .length = 50});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(collectiveWaits(r), ElementsAre("all_reduce of job 0: 1500 to 8000"));
  EXPECT_THAT(jobTimes(r), ElementsAre("forward: 10 to 8200"));
  const Event& wait = r.events(0, kLane)[0];
  EXPECT_EQ(wait.stage, 1);
  EXPECT_EQ(wait.microBatch, 3);
  EXPECT_EQ(r.timeline.strings[wait.name], "gloo:all_reduce");
  EXPECT_EQ(collectiveArgument(r, wait, collective_arguments::kGroup), "") << "nothing says it";
}

TEST(KinetoCollectives, HostTimesLeaveThemOut) {
  KinetoText trace = jobWithAnAllReduce();
  trace.annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950})
      .operation("aten::add", {.begin = 8050, .length = 50});
  EXPECT_THAT(collectiveWaits(readKineto(trace)), ElementsAre("all_reduce of job 0: 1100 to 8000"));
  EXPECT_THAT(readKineto(trace, JobTime::kHost).events(0, kLane), IsEmpty());
}

TEST(KinetoCollectives, AnOperatorThatComputesAtTheEndOfTheRunDidNotWait) {
  KinetoText trace = jobWithAnAllReduce();
  trace.annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950})
      .operation("Device", {.begin = 1200, .length = 7000})
      .operation("aten::clone", {.begin = 8100, .length = 50});
  EXPECT_THAT(collectiveWaits(readKineto(trace)), ElementsAre("all_reduce of job 0: 8000 to 8000"));
}

TEST(KinetoCollectives, AnOperatorThatPostsItAndGoesOnSoonAfterItsEndWaited) {
  KinetoText trace;
  trace.annotation("PP:1B3", {.begin = 0, .length = 20'000})
      .operation("LinearBackward", {.begin = 900, .length = 11'100})
      .operation("c10d::allreduce_", {.begin = 1000, .length = 100})
      .operation("aten::mm", {.begin = 1200, .length = 300})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950});
  EXPECT_THAT(collectiveWaits(readKineto(trace)), ElementsAre("all_reduce of job 0: 1500 to 8000"))
      << "4 ms later";
  KinetoText late;
  late.annotation("PP:1B3", {.begin = 0, .length = 40'000})
      .operation("LinearBackward", {.begin = 900, .length = 31'100})
      .operation("c10d::allreduce_", {.begin = 1000, .length = 100})
      .operation("aten::mm", {.begin = 1200, .length = 300})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950});
  EXPECT_THAT(collectiveWaits(readKineto(late)), ElementsAre("all_reduce of job 0: 8000 to 8000"))
      << "24 ms later: it was not the collective that it waited for";
}

TEST(KinetoCollectives, TheThreadGoesOnAtOnceAfterAWaitOutsideOfOperators) {
  const auto waitsWithNext = [](std::int64_t next) {
    KinetoText trace = jobWithAnAllReduce();
    trace.annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950})
        .operation("aten::mm", {.begin = 1200, .length = 300})
        .operation("aten::add", {.begin = next, .length = 50});
    return collectiveWaits(readKineto(trace));
  };
  EXPECT_THAT(waitsWithNext(8900), ElementsAre("all_reduce of job 0: 1500 to 8000"));
  EXPECT_THAT(waitsWithNext(9100), ElementsAre("all_reduce of job 0: 8000 to 8000"));
}

TEST(KinetoCollectives, TheThreadMayGoOnLaterRightAfterTheOperatorThatPosts) {
  KinetoText trace = jobWithAnAllReduce();
  trace.annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 2950})
      .operation("aten::add", {.begin = 8900, .length = 50});
  EXPECT_THAT(collectiveWaits(readKineto(trace)), ElementsAre("all_reduce of job 0: 1100 to 4000"));
}

TEST(KinetoCollectives, WaitTensorWaitsHoweverLateItEnds) {
  KinetoText trace;
  trace.annotation("PP:1F3", {.begin = 0, .length = 20'000})
      .operation("_c10d_functional::all_reduce", {.begin = 950, .length = 200})
      .operation("c10d::allreduce_", {.begin = 1000, .length = 100})
      .operation("aten::add", {.begin = 2000, .length = 15'000})
      .operation("_c10d_functional::wait_tensor", {.begin = 2100, .length = 14'000})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950});
  EXPECT_THAT(collectiveWaits(readKineto(trace)), ElementsAre("all_reduce of job 0: 2100 to 8000"));
}

TEST(KinetoCollectives, AThreadThatStillPostsItDoesNotWait) {
  KinetoText trace;
  trace.annotation("PP:1F3", {.begin = 0, .length = 20'000})
      .operation("_c10d_functional::all_reduce", {.begin = 950, .length = 7200})
      .operation("c10d::allreduce_", {.begin = 1000, .length = 100})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950});
  EXPECT_THAT(collectiveWaits(readKineto(trace)), ElementsAre("all_reduce of job 0: 8000 to 8000"));
}

TEST(KinetoCollectives, TheOneThatEndedLastIsWaitedFor) {
  KinetoText trace = jobWithAnAllReduce();
  trace.operation("c10d::_allgather_base_", {.begin = 1100, .length = 100})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6450})
      .annotation("gloo:all_gather", {.thread = kWorker + 1, .begin = 1150, .length = 6850})
      .operation("aten::add", {.begin = 8050, .length = 50});
  EXPECT_THAT(collectiveWaits(readKineto(trace)), ElementsAre("all_reduce of job 0: 1200 to 1200",
                                                              "all_gather of job 0: 1200 to 8000"));
}

TEST(KinetoCollectives, AReduceScatterRunsAsAllReducesOfItsTensors) {
  KinetoText trace;
  trace.annotation("PP:1B3", {.begin = 0, .length = 20'000})
      .operation("aten::mm", {.begin = 10, .length = 900})
      .operation("c10d::_reduce_scatter_base_", {.begin = 1000, .length = 100})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 2950})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 4000, .length = 4000})
      .operation("aten::add", {.begin = 8050, .length = 50});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(collectiveWaits(r), ElementsAre("reduce_scatter of job 0: 1100 to 8000"));
  EXPECT_EQ(r.timeline.strings[r.events(0, kLane)[0].name], "c10d::_reduce_scatter_base_");
}

TEST(KinetoCollectives, ARunThatNoOperatorPostedIsWaitedForAsWell) {
  KinetoText trace;
  trace.annotation("PP:1F3", {.begin = 0, .length = 20'000})
      .operation("aten::mm", {.begin = 10, .length = 900})
      .annotation("gloo:broadcast", {.thread = kWorker, .begin = 1050, .length = 6950})
      .operation("aten::add", {.begin = 8050, .length = 50});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(collectiveWaits(r), ElementsAre("broadcast of job 0: 1050 to 8000"));
  EXPECT_EQ(r.timeline.strings[r.events(0, kLane)[0].name], "gloo:broadcast");
}

TEST(KinetoCollectives, JobsReachToWaitsOutsideOfTheirOperators) {
  KinetoText trace;
  trace.annotation("PP:1RECV_F3", {.begin = 0, .length = 10})
      .receive({.posted = 2, .end = 500})
      .annotation("PP:1F3", {.begin = 20, .length = 20'000})
      .operation("c10d::_allgather_base_", {.begin = 600, .length = 100})
      .annotation("gloo:all_gather", {.thread = kWorker, .begin = 650, .length = 3350})
      .operation("aten::mm", {.begin = 4100, .length = 900})
      .operation("c10d::_reduce_scatter_base_", {.begin = 6000, .length = 100})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 6050, .length = 13'000});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(collectiveWaits(r), ElementsAre("all_gather of job 0: 700 to 4000",
                                              "reduce_scatter of job 0: 6100 to 19050"));
  EXPECT_THAT(jobTimes(r), ElementsAre("forward: 700 to 19050"));
}

TEST(KinetoCollectives, OutsideOfJobsThereAreNone) {
  KinetoText trace;
  trace.annotation("PP:1B3", {.begin = 0, .length = 950})
      .operation("aten::mm", {.begin = 10, .length = 900})
      .operation("c10d::allreduce_", {.begin = 1000, .length = 100})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950})
      .operation("aten::add", {.begin = 8050, .length = 50});
  EXPECT_THAT(readKineto(trace).events(0, kLane), IsEmpty());
  KinetoText later;
  later.annotation("forward", {.begin = 0, .length = 2000})
      .operation("c10d::allreduce_", {.begin = 1000, .length = 100})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950})
      .operation("aten::add", {.begin = 8050, .length = 50});
  EXPECT_THAT(readKineto(later).events(0, kLane), IsEmpty()) << "it waits behind the job";
}

TEST(KinetoCollectives, TheOnlyGroupThatSharesAStageIsTheirs) {
  const auto groupWith = [](const std::string& groups) {
    KinetoText trace = jobWithAnAllReduce();
    trace.rank(0, 4, groups, "gloo")
        .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950})
        .operation("aten::add", {.begin = 8050, .length = 50});
    const test::Reading r = readKineto(trace);
    return collectiveArgument(r, r.events(0, kLane).at(0), collective_arguments::kGroup);
  };
  EXPECT_EQ(groupWith(kMesh), "0 1");
  const std::string single = R"({"pg_name": "5", "pg_desc": "mesh_ep", "ranks": [1]})";
  EXPECT_EQ(groupWith(std::string(kMesh) + "," + single), "0 1") << "one rank waits for nobody";
  const std::string other = R"({"pg_name": "4", "pg_desc": "mesh_dp", "ranks": [1, 2]})";
  EXPECT_EQ(groupWith(std::string(kMesh) + "," + other), "") << "it may be one of two";
  const std::string whole = R"({"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1, 2, 3]})";
  const std::string unnamed = R"({"pg_name": "1", "pg_desc": "mesh_dim_0", "ranks": [1, 0]})";
  EXPECT_EQ(groupWith(whole + "," + unnamed), "0 1");
}

TEST(KinetoCollectives, ArgumentsOfTheCallSayGroupNumberAndSize) {
  KinetoText trace = jobWithAnAllReduce();
  trace.rank(0, 4, kMesh, "gloo")
      .operation("record_param_comms", {.begin = 1010, .length = 50},
                 R"(,"Collective name":"allreduce","dtype":"Float","In msg nelems":256,)"
                 R"("Process Group Ranks":"[3, 1]","Seq":17)")
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950})
      .operation("aten::add", {.begin = 8050, .length = 50});
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(collectiveWaits(r), ElementsAre("all_reduce of job 0: 1100 to 8000"));
  const Event& wait = r.events(0, kLane)[0];
  EXPECT_EQ(collectiveArgument(r, wait, collective_arguments::kGroup), "1 3");
  EXPECT_EQ(collectiveArgument(r, wait, collective_arguments::kSequence), "17");
  EXPECT_EQ(collectiveArgument(r, wait, "bytes"), "1024");
}

TEST(KinetoCollectives, WithoutARunTheThreadWaitsAsLongAsItIsSilent) {
  KinetoText trace;
  trace.rank(0, 4, kMesh, "gloo")
      .annotation("PP:1F3", {.begin = 0, .length = 20'000})
      .operation("aten::mm", {.begin = 10, .length = 900})
      .operation("c10d::alltoall_base_", {.begin = 1000, .length = 100})
      .operation("aten::add", {.begin = 8000, .length = 50})
      .operation("_c10d_functional::all_reduce", {.begin = 8950, .length = 200})
      .operation("c10d::allreduce_", {.begin = 9000, .length = 100})
      .operation("_c10d_functional::wait_tensor", {.begin = 10'000, .length = 3000})
      .operation("c10d::barrier", {.begin = 14'000, .length = 100})
      .operation("aten::add", {.begin = 14'150, .length = 50});
  EXPECT_THAT(
      collectiveWaits(readKineto(trace)),
      ElementsAre("all_to_all of job 0: 1100 to 8000", "all_reduce of job 0: 10000 to 13000"));
  KinetoText other;
  other.rank(0, 4, kMesh, "nccl")
      .annotation("PP:1F3", {.begin = 0, .length = 20'000})
      .operation("c10d::allreduce_", {.begin = 1000, .length = 100})
      .operation("aten::add", {.begin = 8000, .length = 50});
  EXPECT_THAT(readKineto(other).events(0, kLane), IsEmpty()) << "a device may run it";
}

TEST(KinetoCollectives, ACollectiveWithoutARunDoesNotTakeThatOfALaterOne) {
  KinetoText trace = jobWithAnAllReduce();  // its run is not in the trace
  trace.operation("aten::mm", {.begin = 1150, .length = 12'850})
      .operation("c10d::_reduce_scatter_base_", {.begin = 14'000, .length = 100})
      .annotation("gloo:all_reduce", {.thread = kWorker, .begin = 14'050, .length = 2950})
      .operation("aten::add", {.begin = 17'050, .length = 50});
  EXPECT_THAT(collectiveWaits(readKineto(trace)),
              ElementsAre("reduce_scatter of job 0: 14100 to 17000"));
}

TEST(KinetoCollectives, AWaitInAnAnnotationInsideOfALaterOperatorCounts) {
  KinetoText trace = jobWithAnAllReduce();
  trace.annotation("gloo:all_reduce", {.thread = kWorker, .begin = 1050, .length = 6950})
      .operation("RegisterPostBackward", {.begin = 3000, .length = 5500})
      .annotation("FSDP::post_backward_reduce", {.begin = 3100, .length = 5300});
  EXPECT_THAT(collectiveWaits(readKineto(trace)), ElementsAre("all_reduce of job 0: 3100 to 8000"));
}

// FSDP2 gathers the weights of a stage before its job, and waits for them as the job begins. Its
// message came meanwhile, or later.
TEST(KinetoCollectives, AJobBeginsWithItsWaitForWeightsIfItsMessageIsThereThen) {
  for (const std::int64_t received : {8200, 9900}) {
    KinetoText trace;
    trace.rank(0, 4, kMesh, "gloo")
        .operation("c10d::_allgather_base_", {.begin = 100, .length = 100})
        .annotation("gloo:all_gather", {.thread = kWorker, .begin = 200, .length = 7800})
        .annotation("PP:1RECV_F3", {.begin = 300, .length = 10})
        .receive({.posted = 302, .end = received})
        .annotation("PP:1F3", {.begin = 400, .length = 19'600})
        .annotation("FSDP::all_gather_copy_out", {.begin = 410, .length = 7690})
        .operation("aten::copy_", {.begin = 8050, .length = 40})
        .operation("aten::mm", {.begin = 10'000, .length = 9000});
    const test::Reading r = readKineto(trace);
    ASSERT_THAT(r.events(0, kComputeLane), testing::SizeIs(1));
    const bool wasThere = received == 8200;
    EXPECT_EQ(kinetoTimes(r.events(0, kComputeLane)[0]),
              wasThere ? "410 to 19000" : "10000 to 19000")
        << received;
  }
}

}  // namespace
}  // namespace pipetrace
