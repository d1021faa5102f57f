#include "profiler/pipetrace.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "profiler/clock/wall_clock.h"
#include "profiler/testing/environment.h"
#include "profiler/testing/record_from_c.h"
#include "profiler/testing/recorded_log.h"
#include "trace/job_kind.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

pipetrace_options optionsFor(const RecordedLog& log, int enabled) {
  pipetrace_options options;
  pipetrace_options_init(&options);
  options.enabled = enabled;
  options.log_directory = log.folder().c_str();
  return options;
}

pipetrace_job jobOf(int kind) {
  pipetrace_job job;
  pipetrace_job_init(&job, kind);
  return job;
}

TEST(PipetraceTest, AProgramInCRecordsJobsAndTransfers) {
  RecordedLog log;
  ASSERT_EQ(recordFromC(log.folder().c_str()), 0) << pipetrace_error();
  EXPECT_THAT(log.lines("Profiler Meta: ", 1),
              ElementsAre(AllOf(HasSubstr("rank = 1, world_size = 2"),
                                HasSubstr("blocks = \"3,2\", schedule = 1F1B"))));
  const std::vector<std::string> jobs = log.lines("Profiler Info: ", 1);
  ASSERT_THAT(jobs, SizeIs(6));
  EXPECT_THAT(jobs[0], AllOf(HasSubstr("type = forward"), HasSubstr("id = 0, step = 0, stage = 1"),
                             HasSubstr("action = 1F0")));
  EXPECT_THAT(jobs[5], AllOf(HasSubstr("type = optimizer"), HasSubstr("step = 1")));
  EXPECT_THAT(log.lines("type = send_backward", 1),
              ElementsAre(HasSubstr("peer = 0, bytes = 4096, job = 1, step = 0"),
                          HasSubstr("peer = 0, bytes = 4096, job = ")));
  EXPECT_EQ(log.number("type = send_backward", "job", 1), log.number("type = backward", ", id", 1));
  // A receive is posted before the forward job that it names.
  EXPECT_THAT(log.lines("type = recv_forward", 1),
              ElementsAre(HasSubstr("peer = 0, bytes = 2048, job = 0, step = 0"),
                          HasSubstr("peer = 0, bytes = 2048, job = ")));
  EXPECT_EQ(log.number("type = recv_forward", "job", 1), log.number("type = forward", ", id", 1));
  EXPECT_THAT(log.lines("Counter: name = loss", 1), SizeIs(2));
  EXPECT_THAT(log.lines("Counter: name = depth", 1), Contains(HasSubstr("value = 4, unit = jobs")))
      << "from the program's function";
  EXPECT_EQ(log.number("Profiler End: ", "errors", 1), 0);
}

/// The constants of the enum pipetrace_kind: `forward` is 1.
std::map<std::string, int> kindsOfTheHeader() {
  std::ifstream file(test::inSources("profiler/pipetrace.h"));
  std::map<std::string, int> kinds;
  bool isInside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "enum pipetrace_kind {") isInside = true;
    if (line == "};") isInside = false;
    const std::string mark = "  PIPETRACE_";
    const std::size_t equals = line.find(" = ");
    if (!isInside || !line.starts_with(mark) || equals == std::string::npos) continue;
    std::string name = line.substr(mark.size(), equals - mark.size());
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    kinds[name] = std::atoi(line.c_str() + equals + 3);
  }
  return kinds;
}

TEST(PipetraceTest, TheHeaderHasEveryKindThatProgramsRecordUnderItsNumber) {
  std::map<std::string, int> recorded;
  for (const JobKindRow& row : kJobKinds) {
    if (isRecorded(row.kind)) recorded[std::string(row.name)] = static_cast<int>(row.kind);
  }
  EXPECT_EQ(kindsOfTheHeader(), recorded);
}

TEST(PipetraceTest, JobsOfNumbersThatAreNoKindsOfProgramsAreOther) {
  RecordedLog log;
  const pipetrace_options options = optionsFor(log, PIPETRACE_ON);
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0) << pipetrace_error();
  const int compute = pipetrace_add_stream(recorder, "compute");
  for (const int kind : {-1, static_cast<int>(JobKind::kKernel), static_cast<int>(JobKind::kBubble),
                         static_cast<int>(JobKind::kReshard), 1000}) {
    const Scope job(recorder, compute, jobOf(kind));
  }
  pipetrace_close(recorder);
  EXPECT_THAT(log.lines("Profiler Info: "), AllOf(SizeIs(5), Each(HasSubstr("type = other"))));
}

TEST(PipetraceTest, StructsOfAnotherVersionOfTheHeaderAreStartedUpToTheirSize) {
  struct Room {
    pipetrace_options options;
    std::array<unsigned char, 64> after;
  };
  // Older: the last fields are missing, and the bytes in their place are the caller's.
  Room room;
  std::memset(&room, 0x5a, sizeof(room));
  constexpr std::size_t kOlder = offsetof(pipetrace_options, log_directory);
  pipetrace_options_init_sized(&room.options, kOlder);
  EXPECT_EQ(room.options.size, kOlder);
  EXPECT_EQ(room.options.schedule, nullptr);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&room);
  EXPECT_THAT(std::vector<unsigned char>(bytes + kOlder, bytes + sizeof(room)), Each(0x5a));
  // Newer: fields that this library does not know are zeroed.
  pipetrace_options_init_sized(&room.options, sizeof(room));
  EXPECT_EQ(room.options.size, sizeof(room));
  EXPECT_THAT(room.after, Each(0));

  pipetrace_job job;
  std::memset(&job, 0x5a, sizeof(job));
  pipetrace_job_init_sized(&job, offsetof(pipetrace_job, action), PIPETRACE_BACKWARD);
  EXPECT_EQ(job.id, PIPETRACE_NOT_GIVEN);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(job.action), 0x5a5a5a5a5a5a5a5a);
}

TEST(PipetraceTest, FunctionsLoadedByNameStartTheStructsOfVersion01) {
  // Sizes on 64-bit machines, by hand from the header of 0.1. If this fails because a struct has
  // grown, the functions write past the structs of programs that load them by name.
  std::array<unsigned char, 256> room;
  room.fill(0x5a);
  (pipetrace_options_init)(reinterpret_cast<pipetrace_options*>(room.data()));
  EXPECT_THAT(std::vector<unsigned char>(room.begin() + 72, room.end()), Each(0x5a));
  room.fill(0x5a);
  (pipetrace_job_init)(reinterpret_cast<pipetrace_job*>(room.data()), PIPETRACE_LR);
  EXPECT_THAT(std::vector<unsigned char>(room.begin() + 56, room.end()), Each(0x5a));
}

TEST(PipetraceTest, AScopeRecordsAJob) {
  RecordedLog log;
  const pipetrace_options options = optionsFor(log, PIPETRACE_ON);
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  const int compute = pipetrace_add_stream(recorder, "compute");
  {
    const Scope job(recorder, compute, jobOf(PIPETRACE_BACKWARD));
    EXPECT_EQ(job.id(), 0);
  }
  EXPECT_EQ(pipetrace_close(recorder), 0);
  EXPECT_THAT(log.lines("Profiler Info: "), ElementsAre(HasSubstr("type = backward,")));
}

TEST(PipetraceTest, ARecorderThatIsOffTakesEveryCallAndTouchesNoFile) {
  RecordedLog log;
  const pipetrace_options options = optionsFor(log, PIPETRACE_OFF);
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  EXPECT_EQ(recorder, nullptr);
  EXPECT_EQ(pipetrace_add_stream(recorder, "compute"), 0);
  const pipetrace_job job = jobOf(PIPETRACE_FORWARD);
  EXPECT_EQ(pipetrace_begin(recorder, 0, &job), PIPETRACE_NOT_GIVEN);
  pipetrace_end(recorder, 0);
  pipetrace_begin_step(recorder, 0);
  pipetrace_end_step(recorder, 0);
  pipetrace_counter(recorder, "loss", 1, nullptr);
  EXPECT_EQ(pipetrace_add_counter(recorder, "x", nullptr, nullptr, nullptr), 0);
  { const Scope scope(recorder, 0, job); }
  EXPECT_EQ(pipetrace_flush(recorder), 0);
  EXPECT_EQ(pipetrace_close(recorder), 0);
  EXPECT_TRUE(std::filesystem::is_empty(log.folder()));
}

TEST(PipetraceTest, TheEnvironmentDecidesUnlessTheProgramDoes) {
  RecordedLog log;
  const auto isOn = [&](int enabled) {
    const pipetrace_options options = optionsFor(log, enabled);
    pipetrace_recorder* recorder = nullptr;
    EXPECT_EQ(pipetrace_open(&options, &recorder), 0) << pipetrace_error();
    const bool on = recorder != nullptr;
    pipetrace_close(recorder);
    return on;
  };
  const Environment clean;
  EXPECT_FALSE(isOn(PIPETRACE_BY_ENVIRONMENT));
  setenv("PIPETRACE", "1", 1);
  EXPECT_TRUE(isOn(PIPETRACE_BY_ENVIRONMENT));
  setenv("PIPETRACE_STEPS", "some", 1);
  EXPECT_FALSE(isOn(PIPETRACE_OFF));
  unsetenv("PIPETRACE_STEPS");
  setenv("PIPETRACE", "0", 1);
  EXPECT_TRUE(isOn(PIPETRACE_ON));
}

/// A job in each of the steps 0 to 7.
void recordEightSteps(pipetrace_recorder* recorder) {
  const int compute = pipetrace_add_stream(recorder, "compute");
  for (int step = 0; step < 8; ++step) {
    pipetrace_begin_step(recorder, step);
    { const Scope job(recorder, compute, jobOf(PIPETRACE_FORWARD)); }
    pipetrace_end_step(recorder, step);
  }
}

TEST(PipetraceTest, FolderAndStepsComeFromTheEnvironment) {
  RecordedLog log;
  const Environment clean;
  setenv("PIPETRACE", "1", 1);
  setenv("PIPETRACE_LOG_DIR", log.folder().c_str(), 1);
  setenv("PIPETRACE_STEPS", "3:6", 1);
  pipetrace_options options;
  pipetrace_options_init(&options);
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0) << pipetrace_error();
  recordEightSteps(recorder);
  pipetrace_close(recorder);
  EXPECT_THAT(log.lines("Profiler Info: "),
              ElementsAre(HasSubstr("step = 3"), HasSubstr("step = 4"), HasSubstr("step = 5")));
  EXPECT_EQ(log.number("Profiler End: ", "dropped"), 0);
  EXPECT_EQ(log.number("Profiler End: ", "errors"), 0);
}

TEST(PipetraceTest, StepsOfTheProgramTakePrecedenceOverThoseOfTheEnvironment) {
  const Environment clean;
  setenv("PIPETRACE_STEPS", "0:2", 1);
  const auto recorded = [](std::int32_t first, std::int32_t end) {
    RecordedLog log;
    pipetrace_options options = optionsFor(log, PIPETRACE_ON);
    options.first_step = first;
    options.end_step = end;
    pipetrace_recorder* recorder = nullptr;
    EXPECT_EQ(pipetrace_open(&options, &recorder), 0);
    recordEightSteps(recorder);
    pipetrace_close(recorder);
    std::string steps;
    for (const std::string& line : log.lines("step = ")) steps += line[0];
    return steps;
  };
  EXPECT_EQ(recorded(0, 0), "01") << "not given";
  EXPECT_EQ(recorded(3, 6), "345");
  EXPECT_EQ(recorded(5, 3), "");
  EXPECT_EQ(recorded(0, 1), "0");
}

TEST(PipetraceTest, ErrorsAreExplained) {
  RecordedLog log;
  pipetrace_options options = optionsFor(log, PIPETRACE_ON);
  pipetrace_recorder* recorder = nullptr;
  options.log_directory = "/dev/null/logs";
  EXPECT_EQ(pipetrace_open(&options, &recorder), -1);
  EXPECT_EQ(recorder, nullptr);
  EXPECT_THAT(pipetrace_error(), HasSubstr("/dev/null/logs"));
  EXPECT_EQ(pipetrace_open(nullptr, &recorder), -1);
  EXPECT_THAT(pipetrace_error(), HasSubstr("pipetrace_options_init"));
  EXPECT_EQ(pipetrace_open(&options, nullptr), -1);
  EXPECT_THAT(pipetrace_error(), HasSubstr("a place for the recorder"));
  options = optionsFor(log, 7);
  EXPECT_EQ(pipetrace_open(&options, &recorder), -1);
  options = optionsFor(log, PIPETRACE_ON);
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  EXPECT_EQ(pipetrace_add_stream(recorder, "a"), 0);
  EXPECT_EQ(pipetrace_add_stream(recorder, "a"), -1);
  EXPECT_THAT(pipetrace_error(), HasSubstr("\"a\" is there already"));
  EXPECT_EQ(pipetrace_add_stream(recorder, nullptr), -1);
  EXPECT_EQ(pipetrace_close(recorder), 0);
}

TEST(PipetraceTest, ShorterOptionsOfAnOlderVersionAreUnderstood) {
  RecordedLog log;
  pipetrace_options options = optionsFor(log, PIPETRACE_ON);
  options.size = offsetof(pipetrace_options, first_step);
  options.first_step = 5;  // bytes that such a caller has after its struct
  options.end_step = 3;
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  const int compute = pipetrace_add_stream(recorder, "compute");
  { const Scope job(recorder, compute, jobOf(PIPETRACE_FORWARD)); }
  pipetrace_close(recorder);
  EXPECT_THAT(log.lines("Profiler Info: "), SizeIs(1));
}

TEST(PipetraceTest, ItsPlaceAmongReplicasAndTensorParallelPeersIsInTheLog) {
  RecordedLog log;
  pipetrace_options options = optionsFor(log, PIPETRACE_ON);
  EXPECT_EQ(options.data_parallel_index, PIPETRACE_NOT_GIVEN);
  options.data_parallel_index = 0;
  options.tensor_parallel_index = 3;
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  pipetrace_close(recorder);
  options.size = offsetof(pipetrace_options, data_parallel_index);  // of an older caller
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  pipetrace_close(recorder);
  EXPECT_THAT(log.lines("Profiler Meta: "),
              ElementsAre(HasSubstr("data_parallel_index = 0, tensor_parallel_index = 3"),
                          Not(HasSubstr("parallel_index"))));
}

TEST(PipetraceTest, ACancelledJobIsNotRecordedAndIsNoError) {
  RecordedLog log;
  const pipetrace_options options = optionsFor(log, PIPETRACE_ON);
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  const int compute = pipetrace_add_stream(recorder, "compute");
  const pipetrace_job data = jobOf(PIPETRACE_DATA);
  const pipetrace_job forward = jobOf(PIPETRACE_FORWARD);
  for (int i = 0; i < 100; ++i) {  // some of which are timed
    pipetrace_begin(recorder, compute, &data);
    pipetrace_cancel(recorder, compute);
    pipetrace_begin(recorder, compute, &forward);
    pipetrace_end(recorder, compute);
  }
  EXPECT_EQ(pipetrace_close(recorder), 0);
  EXPECT_THAT(log.lines("Profiler Info: "), AllOf(SizeIs(100), Each(HasSubstr("type = forward"))));
  EXPECT_THAT(log.lines("Profiler End: "),
              ElementsAre(AllOf(HasSubstr("dropped = 0, errors = 0"), Not(HasSubstr("misuses")))));
  pipetrace_cancel(nullptr, compute);
}

TEST(PipetraceTest, MessagesThatOverlapAreRecordedWhenTheyHaveEnded) {
  RecordedLog log;
  const pipetrace_options options = optionsFor(log, PIPETRACE_ON);
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  const int receives = pipetrace_add_stream(recorder, "recv");
  const int64_t now = monotonicNow();
  pipetrace_job job = jobOf(PIPETRACE_RECV_FORWARD);
  job.peer = 1;
  job.bytes = 64;
  job.step = 0;
  pipetrace_record(recorder, receives, &job, now - 50'000'000, now - 30'000'000);
  job.kind = PIPETRACE_RECV_BACKWARD;
  pipetrace_record(recorder, receives, &job, now - 40'000'000, now - 10'000'000);
  pipetrace_record(recorder, receives, nullptr, now, now);
  pipetrace_record(recorder, receives + 1, &job, now, now);
  EXPECT_EQ(pipetrace_close(recorder), 0);
  EXPECT_THAT(log.lines("Profiler Stream: "), ElementsAre(AllOf(HasSubstr("type = recv_forward"),
                                                                HasSubstr("peer = 1, bytes = 64")),
                                                          HasSubstr("type = recv_backward")));
  const WallClock clock = WallClock::read();
  const auto at = [&](const char* kind, const char* key) {
    const std::string line = log.lines(std::string("type = ") + kind).front();
    std::string digits =
        line.substr(line.find(std::string(key) + " = ") + std::strlen(key) + 3, 20);
    digits.erase(13, 1);
    return std::stoll(digits) - clock.at(now);
  };
  constexpr double kNearNs = 100'000;  // the clock had run for some milliseconds
  EXPECT_NEAR(static_cast<double>(at("recv_forward", "start_time")), -50e6, kNearNs);
  EXPECT_NEAR(static_cast<double>(at("recv_forward", "end_time")), -30e6, kNearNs);
  EXPECT_NEAR(static_cast<double>(at("recv_backward", "start_time")), -40e6, kNearNs);
  EXPECT_NEAR(static_cast<double>(at("recv_backward", "end_time")), -10e6, kNearNs);
  EXPECT_EQ(log.number("Profiler End: ", "misuses"), 2);
  pipetrace_record(nullptr, receives, &job, 0, 0);
}

TEST(PipetraceTest, JobsThatHaveEndedAreRecordedInOneCallByAnOlderOrANewerCaller) {
  struct Newer {
    pipetrace_ended_job job;
    int64_t more;
  };
  RecordedLog log;
  const pipetrace_options options = optionsFor(log, PIPETRACE_ON);
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  const int compute = pipetrace_add_stream(recorder, "compute");
  const int sends = pipetrace_add_stream(recorder, "send");
  const int64_t now = monotonicNow();
  const auto ended = [&](int stream, int32_t kind, int64_t ago) {
    pipetrace_ended_job made{
        .began = now - ago, .ended = now - ago + 1000, .stream = stream, .job = jobOf(kind)};
    made.job.step = 0;
    return made;
  };
  const std::array<pipetrace_ended_job, 3> jobs = {ended(compute, PIPETRACE_FORWARD, 9000),
                                                   ended(sends, PIPETRACE_SEND_FORWARD, 7000),
                                                   ended(compute, PIPETRACE_BACKWARD, 5000)};
  pipetrace_record_all(recorder, jobs.data(), jobs.size(), sizeof(jobs[0]));
  const std::array<Newer, 2> newer = {Newer{ended(compute, PIPETRACE_FORWARD, 4000), 7},
                                      Newer{ended(compute, PIPETRACE_BACKWARD, 2000), 7}};
  pipetrace_record_all(recorder, &newer[0].job, newer.size(), sizeof(newer[0]));
  pipetrace_record_all(recorder, nullptr, 0, sizeof(jobs[0]));
  pipetrace_record_all(nullptr, jobs.data(), jobs.size(), sizeof(jobs[0]));
  EXPECT_EQ(pipetrace_close(recorder), 0);
  const auto type = [](const char* kind) { return HasSubstr(std::string("type = ") + kind); };
  EXPECT_THAT(log.lines("Profiler Info: "),
              ElementsAre(type("forward"), type("backward"), type("forward"), type("backward")));
  EXPECT_THAT(log.lines("Profiler Stream: "), ElementsAre(type("send_forward")));
  EXPECT_EQ(log.number("Profiler End: ", "errors"), 0);
}

TEST(PipetraceTest, RanksCompareTheirClocksWithRank0) {
  RecordedLog log;
  std::array<pipetrace_recorder*, 2> recorders{};
  for (int rank = 0; rank < 2; ++rank) {
    pipetrace_options options = optionsFor(log, PIPETRACE_ON);
    options.rank = rank;
    ASSERT_EQ(pipetrace_open(&options, &recorders[static_cast<std::size_t>(rank)]), 0);
  }
  EXPECT_EQ(pipetrace_serve_clock(recorders[0], "no address", 0, "secret"), -1);
  const int port = pipetrace_serve_clock(recorders[0], "127.0.0.1", 0, "secret");
  ASSERT_GT(port, 0) << pipetrace_error();
  ASSERT_EQ(pipetrace_compare_clock(recorders[1], "127.0.0.1", port, "secret"), 0);
  for (int i = 0; i < 1000 && log.lines("Profiler Clock: ", 1).empty(); ++i) usleep(10'000);
  for (pipetrace_recorder* each : recorders) EXPECT_EQ(pipetrace_close(each), 0);
  ASSERT_THAT(log.lines("Profiler Clock: ", 1), SizeIs(1));
  EXPECT_LT(std::abs(log.number("Profiler Clock: ", "offset_ns", 1)), 1'000'000) << "of one host";
  EXPECT_EQ(pipetrace_serve_clock(nullptr, "127.0.0.1", 0, nullptr), 0);
  EXPECT_EQ(pipetrace_compare_clock(nullptr, "127.0.0.1", port, nullptr), 0);
}

TEST(PipetraceTest, WithoutADriverACudaStreamIsRefusedWithAReasonAndTheRestIsRecorded) {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_NOW)) {
    dlclose(driver);
    GTEST_SKIP() << "there is a driver here";
  }
  RecordedLog log;
  const pipetrace_options options = optionsFor(log, PIPETRACE_ON);
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  EXPECT_EQ(pipetrace_add_cuda_stream(recorder, "compute", nullptr, 0), -1);
  EXPECT_THAT(pipetrace_error(), AllOf(HasSubstr("there is no driver (libcuda.so.1"),
                                       HasSubstr("record streams of the CPU")));
  const int compute = pipetrace_add_stream(recorder, "compute");
  EXPECT_EQ(compute, 0) << "the name is free";
  const pipetrace_job job = jobOf(PIPETRACE_FORWARD);
  pipetrace_begin(recorder, compute, &job);
  pipetrace_end(recorder, compute);
  EXPECT_EQ(pipetrace_close(recorder), 0);
  EXPECT_THAT(log.lines("Profiler Info: "), SizeIs(1));
}

}  // namespace
}  // namespace pipetrace
