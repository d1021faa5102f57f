// Jobs of Nsight Systems' exports lie where devices ran them.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "parser/sqlite/reader.h"
#include "parser/testing/reading.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// The tables as Nsight Systems makes them, fewer columns.
constexpr const char* kTables =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce_Sum'), "
    "(3, 'ncclDevKernel_SendRecv');"
    "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, "
    "correlationId INT, nameId INT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, "
    "correlationId INT, globalPid INT, shortName INT, graphNodeId INT);";

/// An export of one process, number 70. Threads have their own numbers, times are nanoseconds.
class Export {
 public:
  Export& range(const std::string& name, int thread, int begin, int end) {
    return add("NVTX_EVENTS VALUES (" + list({begin, end, 59}) + ", '" + name + "', " + id(thread) +
               ")");
  }
  Export& launch(int correlation, int thread, int begin) {
    return add("CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + list({begin, begin + 2, 0}) + ", " +
               id(thread) + ", " + list({correlation, 0}) + ")");
  }
  Export& kernel(int correlation, int begin, int end, int stream = 7, int name = 1,
                 int device = 0) {
    return add("CUPTI_ACTIVITY_KIND_KERNEL VALUES (" +
               list({begin, end, device, stream, correlation}) + ", " + id(0) + ", " +
               list({name, 0}) + ")");
  }
  Export& graph(int correlation, int begin, int end) {
    sql_ +=
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, "
        "streamId INT, graphId INT, correlationId INT, globalPid INT);";
    return add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (" + list({begin, end, 0, 7, 1}) + ", " +
               list({correlation}) + ", " + id(0) + ")");
  }
  Export& sql(const std::string& text) {
    sql_ += text;
    return *this;
  }

  test::Reading read(JobTime time = JobTime::kAuto) const {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql_.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_int64 size = 0;
    unsigned char* const bytes = sqlite3_serialize(database, "main", &size, 0);
    const std::string file(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    sqlite3_free(bytes);
    sqlite3_close(database);
    return test::readWith<SqliteReader>("p.sqlite", file, {.jobTime = time});
  }

 private:
  static std::string id(int thread) { return std::to_string((1LL << 48) + (70LL << 24) + thread); }
  static std::string list(std::initializer_list<int> numbers) {
    std::string text;
    for (const int number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return text;
  }
  Export& add(const std::string& row) {
    sql_ += "INSERT INTO " + row + ";";
    return *this;
  }

  std::string sql_ = kTables;
};

/// "forward 3: 100 to 130" for each job on the lane `compute`.
std::vector<std::string> jobs(const test::Reading& r) {
  std::vector<std::string> list;
  for (const Event& job : r.events(0, kComputeLane)) {
    list.push_back(std::string(logName(job.kind)) + " " + std::to_string(job.microBatch) + ": " +
                   std::to_string(job.begin) + " to " + std::to_string(job.end));
  }
  return list;
}

TEST(NsysJobs, RangeLastsFromTheFirstStartToTheLastEndOfItsKernels) {
  Export file;
  file.range("forward 3", 71, 10, 30)
      .launch(1, 71, 11)
      .launch(2, 71, 29)
      .launch(3, 71, 31)
      .kernel(1, 100, 110)
      .kernel(2, 120, 130)
      .kernel(3, 200, 210);
  const test::Reading r = file.read();
  EXPECT_THAT(jobs(r), ElementsAre("forward 3: 100 to 130"));
  const auto& host = r.events(0, kHostLane);
  ASSERT_THAT(host, SizeIs(1));
  EXPECT_EQ(host[0].begin, 10);
  EXPECT_EQ(host[0].kind, JobKind::kOther);
  EXPECT_EQ(r.timeline.strings[host[0].name], "forward 3");
  const auto& kernels = r.events(0, "device 0 stream 7");
  ASSERT_THAT(kernels, SizeIs(3));
  EXPECT_EQ(kernels[0].job, host[0].job);
  EXPECT_EQ(kernels[2].job, kNotGiven);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("1 of 3 kernels and copies belong to no job")));
}

TEST(NsysJobs, ThreadWithoutRangesLaunchesForTheBackwardThatIsOpen) {
  Export file;
  file.range("forward 0", 71, 10, 30)
      .range("backward 0", 71, 40, 60)
      .launch(1, 72, 15)
      .launch(2, 72, 45)
      .launch(3, 71, 12)
      .kernel(1, 100, 110)
      .kernel(2, 200, 210)
      .kernel(3, 300, 310);
  EXPECT_THAT(jobs(file.read()),
              UnorderedElementsAre("backward 0: 200 to 210", "forward 0: 300 to 310"));
}

TEST(NsysJobs, KernelsOfNcclAreNoPartOfAJob) {
  Export file;
  file.range("forward 0", 71, 10, 30)
      .launch(1, 71, 11)
      .launch(2, 71, 12)
      .kernel(1, 100, 110)
      .kernel(2, 105, 190, 20, 2);
  const test::Reading r = file.read();
  EXPECT_THAT(jobs(r), ElementsAre("forward 0: 100 to 110"));
  EXPECT_EQ(r.events(0, "device 0 stream 20").at(0).kind, JobKind::kAllReduce);
}

TEST(NsysJobs, DevicesOfAProcessThatRunStagesOfTheirOwnAreRanks) {
  Export file;
  int launch = 0;
  const auto job = [&](const char* name, int thread, int begin, int end) {
    ++launch;
    file.range(name, thread, begin, begin + 10)
        .launch(launch, thread, begin + 1)
        .kernel(launch, begin + 20, end, 7, 1, thread);
  };
  job("forward 0", 1, 100, 220);
  job("forward 1", 1, 210, 330);
  job("forward 0", 2, 210, 330);
  job("backward 0", 2, 320, 440);
  job("backward 0", 1, 430, 550);
  const test::Reading r = file.read();
  EXPECT_THAT(r.events(0, kComputeLane), SizeIs(3));
  EXPECT_THAT(r.events(1, kComputeLane), SizeIs(2));
  EXPECT_THAT(r.events(1, "device 2 stream 7"), SizeIs(2));
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("taken for ranks 0 to 1")));
}

TEST(NsysJobs, WholeGraphIsWorkOfTheJobThatLaunchedIt) {
  Export file;
  file.range("forward 0", 71, 10, 30).launch(1, 71, 11).graph(1, 100, 150);
  EXPECT_THAT(jobs(file.read()), ElementsAre("forward 0: 100 to 150"));
}

TEST(NsysJobs, NodesOfAGraphAreWorkOfTheJobThatLaunchedIt) {
  Export file;
  file.range("forward 0", 71, 10, 30)
      .launch(1, 71, 11)
      .kernel(1, 100, 110)
      .kernel(1, 120, 140)
      .kernel(1, 130, 150, 8);
  EXPECT_THAT(jobs(file.read()), ElementsAre("forward 0: 100 to 150"));
}

TEST(NsysJobs, NestedRangeOfAKnownNameIsPartOfTheJobAroundIt) {
  Export file;
  file.range("forward 0", 71, 10, 30)
      .range("forward", 71, 12, 20)
      .launch(1, 71, 13)
      .launch(2, 71, 25)
      .kernel(1, 100, 110)
      .kernel(2, 120, 130);
  const test::Reading r = file.read();
  EXPECT_THAT(jobs(r), ElementsAre("forward 0: 100 to 130"));
  EXPECT_EQ(r.events(0, "nvtx thread 71").at(0).kind, JobKind::kOther);
}

TEST(NsysJobs, HostTimesLeaveTheRangesOnTheLaneOfTheirThread) {
  Export file;
  file.range("forward 3", 71, 10, 30).launch(1, 71, 11).kernel(1, 100, 110);
  const test::Reading r = file.read(JobTime::kHost);
  EXPECT_THAT(jobs(r), IsEmpty());
  ASSERT_THAT(r.events(0, "nvtx thread 71"), SizeIs(1));
  EXPECT_EQ(r.events(0, "nvtx thread 71")[0].kind, JobKind::kForward);
  EXPECT_EQ(r.events(0, "device 0 stream 7").at(0).job, kNotGiven);
}

TEST(NsysJobs, RangesOfAnExportWithoutLaunchesHaveTheHostsTimesWithAWarning) {
  Export file;
  file.range("forward 3", 71, 10, 30).kernel(1, 100, 110);
  const test::Reading r = file.read();
  EXPECT_EQ(r.events(0, "nvtx thread 71").at(0).begin, 10);
  EXPECT_EQ(r.events(0, "device 0 stream 7").at(0).job, kNotGiven);
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("show when work was launched")));
}

TEST(NsysJobs, JobWithoutWorkHasTheHostsTimesAndSaysSo) {
  Export file;
  file.range("forward 0", 71, 10, 30)
      .range("forward 1", 71, 40, 50)
      .launch(1, 71, 11)
      .kernel(1, 100, 110);
  const test::Reading r = file.read();
  EXPECT_THAT(jobs(r), ElementsAre("forward 1: 40 to 50", "forward 0: 100 to 110"));
  EXPECT_THAT(r.diagnostics, Contains(HasSubstr("a job launched no work on a device")));
}

constexpr int kAllReduce = 2;
constexpr int kSendRecv = 3;

/// "send_forward 1F3 of job 0: 100 to 130" for each event of both lanes of messages.
std::vector<std::string> messages(const test::Reading& r, int rank = 0) {
  std::vector<std::string> list;
  for (const std::string_view lane : {kSendLane, kRecvLane}) {
    for (const Event& each : r.events(rank, lane)) {
      list.push_back(std::string(logName(each.kind)) + " " + std::to_string(each.stage) + ":" +
                     std::to_string(each.microBatch) + " of job " + std::to_string(each.job) +
                     ": " + std::to_string(each.begin) + " to " + std::to_string(each.end));
    }
  }
  return list;
}

TEST(NsysMessages, MessageIsTheKernelThatTheRangeAroundItsPostLaunched) {
  Export file;
  file.range("PP:1RECV_F3", 71, 0, 9)
      .range("PP:1F3", 71, 10, 30)
      .range("PP:1SEND_F3", 71, 32, 40)
      .launch(1, 71, 5)
      .launch(2, 71, 11)
      .launch(3, 71, 35)
      .kernel(1, 50, 100, 20, kSendRecv)
      .kernel(2, 100, 130)
      .kernel(3, 130, 160, 21, kSendRecv);
  const test::Reading r = file.read();
  EXPECT_THAT(messages(r), ElementsAre("send_forward 1:3 of job 0: 130 to 160",
                                       "recv_forward 1:3 of job 0: 50 to 100"));
  EXPECT_THAT(r.events(0, "device 0 stream 20"), IsEmpty());
  for (const Event& range : r.events(0, "nvtx thread 71")) EXPECT_EQ(range.kind, JobKind::kOther);
  EXPECT_THAT(r.diagnostics, IsEmpty());
  const Event& send = r.events(0, kSendLane).at(0);
  const auto arguments = r.timeline.argumentsOf(send);
  ASSERT_THAT(arguments, SizeIs(1)) << "its line is the stream";
  EXPECT_EQ(r.timeline.strings[arguments[0].key], "stream");
  EXPECT_EQ(arguments[0].integer, 21);
}

TEST(NsysMessages, MessagePostedBesideOtherJobsIsThatOfItsOwnJob) {
  Export file;
  file.range("PP:1RECV_F1", 71, 0, 9)  // ahead of the job before its own
      .range("PP:1F0", 71, 10, 20)
      .range("PP:1F1", 71, 30, 40)
      .range("PP:1B0", 71, 50, 60)
      .range("PP:1SEND_F0", 71, 70, 80)
      .range("PP:1SEND_B0", 71, 80, 90)
      .launch(1, 71, 5)
      .launch(2, 71, 75)
      .launch(3, 71, 85)
      .launch(4, 71, 11)
      .kernel(1, 100, 110, 20, kSendRecv)
      .kernel(2, 120, 130, 21, kSendRecv)
      .kernel(3, 140, 150, 21, kSendRecv)
      .kernel(4, 90, 95);
  EXPECT_THAT(messages(file.read()), ElementsAre("send_forward 1:0 of job 0: 120 to 130",
                                                 "send_backward 1:0 of job 2: 140 to 150",
                                                 "recv_forward 1:1 of job 1: 100 to 110"));
}

TEST(NsysMessages, KernelsThatOneRangeLaunchedAreMessagesEach) {
  Export file;
  file.range("PP:0F0", 71, 10, 20)
      .range("PP:0SEND_F0", 71, 30, 40)
      .launch(1, 71, 11)
      .launch(2, 71, 31)
      .launch(3, 71, 35)
      .kernel(1, 100, 110)
      .kernel(2, 120, 130, 21, kSendRecv)
      .kernel(3, 130, 140, 21, kSendRecv);
  EXPECT_THAT(messages(file.read()), ElementsAre("send_forward 0:0 of job 0: 120 to 130",
                                                 "send_forward 0:0 of job 0: 130 to 140"));
}

TEST(NsysMessages, RangeWithoutAKernelIsNoMessageAndSaysSo) {
  Export file;
  file.range("PP:1F3", 71, 10, 30)
      .range("PP:1SEND_F3", 71, 32, 40)
      .launch(2, 71, 11)
      .launch(3, 72, 35)  // on another thread
      .kernel(2, 100, 130)
      .kernel(3, 130, 160, 21, kSendRecv);
  const test::Reading r = file.read();
  EXPECT_THAT(messages(r), IsEmpty());
  EXPECT_THAT(r.events(0, "device 0 stream 21"), SizeIs(1));
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("launched no kernel of NCCL")));
}

TEST(NsysMessages, NameWithoutNumbersGetsThoseOfTheJobNextToIt) {
  Export file;
  file.range("forward 2", 71, 10, 20)
      .range("send_forward", 71, 30, 40)
      .launch(1, 71, 11)
      .launch(2, 71, 31)
      .kernel(1, 100, 110)
      .kernel(2, 120, 130, 21, kSendRecv);
  EXPECT_THAT(messages(file.read()), ElementsAre("send_forward -1:2 of job 0: 120 to 130"));
}

TEST(NsysMessages, RangesOfAnExportWithoutADeviceAreMessagesAtTheHostsTimes) {
  Export file;
  file.range("PP:1F3", 71, 10, 30).range("PP:1SEND_F3", 71, 32, 40);
  const test::Reading r = file.read();
  ASSERT_THAT(r.events(0, "nvtx thread 71"), SizeIs(2));
  EXPECT_EQ(r.events(0, "nvtx thread 71")[1].kind, JobKind::kSendForward);
}

TEST(NsysMessages, MessagesOfDevicesThatAreRanksAreOfTheirRank) {
  Export file;
  int launch = 0;
  const auto work = [&](const char* name, int thread, int begin, int end, int kernel) {
    ++launch;
    file.range(name, thread, begin, begin + 10)
        .launch(launch, thread, begin + 1)
        .kernel(launch, begin + 20, end, 7 + kernel, kernel, thread);
  };
  work("PP:0F0", 1, 100, 220, 1);
  work("PP:0F1", 1, 210, 330, 1);
  work("PP:1F0", 2, 210, 330, 1);
  work("PP:1B0", 2, 320, 440, 1);
  work("PP:0B0", 1, 430, 550, 1);
  work("PP:0SEND_F0", 1, 130, 160, kSendRecv);
  work("PP:1SEND_B0", 2, 335, 460, kSendRecv);
  const test::Reading r = file.read();
  EXPECT_THAT(messages(r, 0), ElementsAre("send_forward 0:0 of job 0: 150 to 160"));
  EXPECT_THAT(messages(r, 1), ElementsAre("send_backward 1:0 of job 4: 355 to 460"));
}

TEST(NsysMessages, CollectiveLeavesAStreamThatComputes) {
  Export file;
  file.range("PP:1F3", 71, 10, 30)
      .range("PP:1REDUCE_GRAD", 71, 32, 40)
      .launch(1, 71, 11)
      .launch(2, 71, 35)
      .launch(3, 71, 36)
      .kernel(1, 100, 130)
      .kernel(2, 130, 160, 7, kAllReduce)
      .kernel(3, 130, 160, 20, kAllReduce);
  const test::Reading r = file.read();
  ASSERT_THAT(r.events(0, "nccl"), SizeIs(1));
  EXPECT_EQ(r.events(0, "nccl")[0].kind, JobKind::kAllReduce);
  EXPECT_THAT(r.events(0, "device 0 stream 7"), SizeIs(1));
  EXPECT_THAT(r.events(0, "device 0 stream 20"), SizeIs(1)) << "nothing computes there";
  for (const Event& range : r.events(0, "nvtx thread 71")) EXPECT_EQ(range.kind, JobKind::kOther);
}

TEST(NsysMessages, NumbersThatEmitNvtxAppendsAreNoPartOfAName) {
  Export file;
  file.range("PP:1F3, op_id = 42", 71, 10, 30)
      .range("PP:1SEND_F3, seq = 7, op_id = 43, sizes = [[2, 3], []]", 71, 32, 40)
      .range("aten::mm, sizes = [[4, 2], [2, 3]], input_op_ids = [(1, 0)]", 71, 12, 14)
      .range("at 3, 4", 71, 15, 16)
      .launch(1, 71, 11)
      .launch(2, 71, 35)
      .kernel(1, 100, 130)
      .kernel(2, 130, 160, 21, kSendRecv);
  const test::Reading r = file.read();
  EXPECT_THAT(messages(r), ElementsAre("send_forward 1:3 of job 0: 130 to 160"));
  std::vector<std::string> names;
  for (const Event& range : r.events(0, "nvtx thread 71")) {
    names.emplace_back(r.timeline.strings[range.name]);
  }
  EXPECT_THAT(names, ElementsAre("aten::mm", "at 3, 4", "PP:1SEND_F3"));
}

}  // namespace
}  // namespace pipetrace
