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
    "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce_Sum');"
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

}  // namespace
}  // namespace pipetrace
