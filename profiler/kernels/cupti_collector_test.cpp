#include "profiler/kernels/cupti_collector.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "profiler/testing/recorded_log.h"
#include "profiler/testing/resource_limit.h"
#include "trace/testing/forked_child.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Activity = CuptiApi::Activity;
using Kind = CuptiRecord::Kind;

/// CUPTI without a device: notes the calls, and delivers the records that a test gives it.
class FakeCupti : public CuptiApi {
 public:
  int deviceCount() noexcept override { return note("deviceCount"), devices; }
  bool setUp() noexcept override { return note("setUp"); }
  bool deliverTo(Sink sink) noexcept override {
    sink_ = std::move(sink);
    return note("deliverTo");
  }
  bool enable(Activity activity) noexcept override {
    note("enable " + std::to_string(static_cast<int>(activity)));
    return activity != refused;
  }
  void disable(Activity activity) noexcept override {
    note("disable " + std::to_string(static_cast<int>(activity)));
  }
  bool flush(bool all) noexcept override {
    std::vector<CuptiRecord> deliver;
    {
      const std::lock_guard lock(mutex_);
      if (flushes == lateFlush) ready.insert(ready.end(), late.begin(), late.end());
      if (all) calls_.emplace_back("flush all");
      if (all || !onlyAtTheEnd) deliver.swap(ready);
      ++flushes;
    }
    for (const CuptiRecord& record : deliver) sink_(record);
    return true;
  }
  void finalize() noexcept override { note("finalize"); }
  void pushJob(std::int64_t job) noexcept override { note("push " + std::to_string(job)); }
  void popJob() noexcept override { note("pop"); }
  std::int64_t dropped() noexcept override { return lost; }
  std::string lastError() override { return "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"; }

  void add(const CuptiRecord& record) {
    const std::lock_guard lock(mutex_);
    ready.push_back(record);
  }
  int flushCount() {
    const std::lock_guard lock(mutex_);
    return flushes;
  }
  std::vector<std::string> calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  int devices = 1;
  std::int64_t lost = 0;
  int lateFlush = -1;  // the flush, counted from 0, that delivers `late`, too
  std::vector<CuptiRecord> late;
  Activity refused = static_cast<Activity>(99);
  bool onlyAtTheEnd = false;

 private:
  bool note(const std::string& call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
    return true;
  }

  std::mutex mutex_;
  std::vector<std::string> calls_;
  std::vector<CuptiRecord> ready;
  int flushes = 0;
  Sink sink_;
};

CuptiRecord kernel(std::uint32_t correlation, const char* name) {
  return {
      .correlation = correlation, .stream = 7, .begin = 1'000'000, .end = 2'500'000, .name = name};
}
CuptiRecord call(std::uint32_t correlation, std::int64_t job) {
  return {.kind = Kind::kCorrelation, .correlation = correlation, .job = job};
}

struct Collecting {
  RecordedLog log;
  std::shared_ptr<FakeCupti> cupti = std::make_shared<FakeCupti>();
  CudaKernelLog lines{log.path()};
  std::vector<std::string> kernels() const { return log.lines("Profiler Kernel: "); }
};

TEST(CuptiCollectorTest, RanksOfAProcessHaveTheirOwnKernelsInTheirLogs) {
  Collecting test;
  const RecordedLog other;
  CudaKernelLog otherLines(other.path());
  CuptiCollector collector(test.cupti, test.lines, 100 * kNsPerSecond);
  const int number = collector.addLog(otherLines);
  collector.beginJob(41);
  collector.endJob();
  collector.beginJob(41, number);
  collector.endJob();
  const auto calls = test.cupti->calls();
  const auto pushed = [&](std::size_t n) {
    std::vector<std::int64_t> ids;
    for (const std::string& call : calls) {
      if (call.starts_with("push ")) ids.push_back(std::stoll(call.substr(5)));
    }
    return ids.at(n);
  };
  test.cupti->add(call(1, pushed(0)));
  test.cupti->add(call(2, pushed(1)));
  test.cupti->add(kernel(1, "of the first"));
  test.cupti->add(kernel(2, "of the other"));
  collector.removeLog(number);
  EXPECT_THAT(other.lines("Profiler Kernel: "),
              ElementsAre(testing::AllOf(HasSubstr("of the other"), HasSubstr("job = 41"))));
  test.cupti->add(kernel(9, "of no job"));
  test.cupti->add(kernel(2, "after the log was closed"));
  collector.stop();
  EXPECT_THAT(
      test.kernels(),
      ElementsAre(testing::AllOf(HasSubstr("of the first"), HasSubstr("job = 41")),
                  testing::AllOf(HasSubstr("of no job"), testing::Not(HasSubstr("job = ")))));
}

TEST(CuptiCollectorTest, CuptiIsCalledInTheOrderThatItNeeds) {
  Collecting test;
  CuptiCollector collector(test.cupti, test.lines, 100 * kNsPerSecond);
  EXPECT_TRUE(collector.isRunning());
  collector.beginJob(41);
  collector.endJob();
  collector.stop();
  collector.stop();
  EXPECT_THAT(
      test.cupti->calls(),
      ElementsAre("deviceCount", "setUp", "deliverTo", "enable 0", "enable 1", "enable 2",
                  "enable 3", "enable 4", "enable 5", "push 41", "pop", "flush all", "disable 5",
                  "disable 4", "disable 3", "disable 2", "disable 1", "disable 0", "finalize"));
}

TEST(CuptiCollectorTest, WithoutADeviceNothingElseIsCalledAndTheReasonIsReported) {
  Collecting test;
  test.cupti->devices = 0;
  testing::internal::CaptureStderr();
  CuptiCollector collector(test.cupti, test.lines);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "pipetrace: kernels are not recorded: CUPTI finds no device: "
            "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED\n");
  collector.beginJob(1);
  collector.endJob();
  collector.stop();
  EXPECT_FALSE(collector.isRunning());
  EXPECT_THAT(collector.trouble(), HasSubstr("no device"));
  EXPECT_THAT(test.cupti->calls(), ElementsAre("deviceCount"));
}

TEST(CuptiCollectorTest, AnotherToolIsReportedAndEnabledActivitiesAreDisabled) {
  Collecting test;
  test.cupti->refused = Activity::kDriverCalls;
  const CuptiCollector collector(test.cupti, test.lines);
  EXPECT_FALSE(collector.isRunning());
  EXPECT_THAT(collector.trouble(), HasSubstr("another profiler"));
  EXPECT_THAT(collector.trouble(), HasSubstr("MULTIPLE_SUBSCRIBERS"));
  EXPECT_THAT(test.cupti->calls(),
              ElementsAre("deviceCount", "setUp", "deliverTo", "enable 0", "enable 1", "enable 2",
                          "disable 1", "disable 0", "finalize"));
}

TEST(CuptiCollectorTest, AKernelIsWrittenWithTheJobOfItsCall) {
  Collecting test;
  CuptiCollector collector(test.cupti, test.lines);
  test.cupti->add(call(5, 41));
  test.cupti->add(kernel(5, "gemm<float, 4>"));
  CuptiRecord copy = kernel(5, "copy host to device");
  copy.kind = Kind::kCopy;
  copy.bytes = 4096;
  test.cupti->add(copy);
  collector.stop();
  EXPECT_THAT(test.kernels(),
              ElementsAre("name = \"gemm<float, 4>\", start_time = 1.000000, end_time = 2.500000, "
                          "stream = 7, job = 41",
                          "name = \"copy host to device\", start_time = 1.000000, end_time = "
                          "2.500000, stream = 7, bytes = 4096, job = 41"));
}

TEST(CuptiCollectorTest, AKernelWhoseCallComesLaterWaitsForIt) {
  Collecting test;
  test.cupti->add(kernel(5, "early"));
  test.cupti->lateFlush = 2;
  test.cupti->late = {call(5, 41)};
  CuptiCollector collector(test.cupti, test.lines, kNsPerMs);
  while (test.cupti->flushCount() < 4) std::this_thread::yield();
  collector.stop();
  EXPECT_THAT(test.kernels(), ElementsAre(HasSubstr("job = 41")));
}

TEST(CuptiCollectorTest, AKernelOfNoJobIsWrittenWithoutOne) {
  Collecting test;
  CuptiCollector collector(test.cupti, test.lines, kNsPerMs);
  test.cupti->add(call(5, 41));
  test.cupti->add(kernel(6, "other"));
  const int before = test.cupti->flushCount();
  while (test.cupti->flushCount() < before + 10) std::this_thread::yield();
  EXPECT_THAT(test.kernels(), ElementsAre(testing::Not(HasSubstr("job"))));
  collector.stop();
  EXPECT_THAT(test.kernels(), testing::SizeIs(1));
}

TEST(CuptiCollectorTest, RecordsThatOnlyTheLastFlushDeliversAreWritten) {
  Collecting test;
  test.cupti->onlyAtTheEnd = true;
  {
    const CuptiCollector collector(test.cupti, test.lines, kNsPerMs);
    test.cupti->add(kernel(5, "late"));
    test.cupti->add(call(5, 3));
  }
  EXPECT_THAT(test.kernels(), ElementsAre(HasSubstr("job = 3")));
}

TEST(CuptiCollectorTest, MissingRecordsAreReportedOnce) {
  Collecting test;
  test.cupti->lost = 7;
  testing::internal::CaptureStderr();
  {
    CuptiCollector collector(test.cupti, test.lines, 100 * kNsPerSecond);
    collector.stop();
    EXPECT_EQ(collector.dropped(), 7);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "pipetrace: kernels are missing in the log: CUPTI dropped 7 records, and 0 lines could "
            "not be written\n");
  test.cupti->lost = 0;
  testing::internal::CaptureStderr();
  { const CuptiCollector collector(test.cupti, test.lines, 100 * kNsPerSecond); }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(CuptiCollectorTest, LinesThatCannotBeWrittenAreReported) {
  Collecting test;
  testing::internal::CaptureStderr();
  {
    const CuptiCollector collector(test.cupti, test.lines, 100 * kNsPerSecond);
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    {
      const FileSizeLimit full(0);  // which stderr, a file here, is under as well
      test.lines.append({.name = "waiting", .begin = 1, .end = 2, .stream = "7"});
      test.lines.flush();
    }
    std::signal(SIGXFSZ, before);
  }
  EXPECT_EQ(test.lines.lost(), 1);
  EXPECT_EQ(test.lines.written(), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("CUPTI dropped 0 records, and 1 lines could not be written"));
}

TEST(CuptiCollectorTest, TheOldestCallsAreForgottenFirst) {
  Collecting test;
  CuptiCollector collector(test.cupti, test.lines, 100 * kNsPerSecond);
  constexpr std::uint32_t kCalls = 300'000;
  for (std::uint32_t i = 0; i < kCalls; ++i) test.cupti->add(call(i, i));
  test.cupti->add(kernel(kCalls - 262'144, "old"));
  test.cupti->add(kernel(kCalls - 1, "new"));
  collector.stop();
  EXPECT_THAT(test.kernels(), ElementsAre(HasSubstr("job = 37856"), HasSubstr("job = 299999")));
}

TEST(CuptiCollectorTest, AForkedChildWritesNothingAndDoesNotCallCupti) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  auto test = std::make_unique<Collecting>();
  auto collector = std::make_unique<CuptiCollector>(test->cupti, test->lines, 100 * kNsPerSecond);
  test->lines.append({.name = "waiting", .begin = 1, .end = 2, .stream = "7"});
  test->cupti->add(kernel(1, "gemm"));
  const std::size_t calls = test->cupti->calls().size();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // it must not wait for a thread that it does not have
    collector->beginJob(41);
    collector->endJob();
    collector->stop();
    const bool isRunning = collector->isRunning();
    collector.reset();
    test->lines.append({.name = "of the child", .begin = 1, .end = 2, .stream = "7"});
    test->lines.flush();
    const std::int64_t written = test->lines.written();
    if (isRunning || written != 0 || test->cupti->calls().size() != calls) _exit(1);
    std::exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(test->kernels(), IsEmpty());
  collector.reset();
  EXPECT_THAT(test->kernels(), ElementsAre(HasSubstr("waiting"), HasSubstr("gemm")));
}

}  // namespace
}  // namespace pipetrace
