// The plugin as NCCL drives it: through the table that it looks up by name.
#include "profiler/nccl/plugin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <thread>

#include "profiler/cpu_stream.h"
#include "profiler/nccl/recording.h"
#include "profiler/testing/recorded_log.h"
#include "profiler/testing/resource_limit.h"
#include "trace/testing/forked_child.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr const char* kMark = "Profiler Stream: ";

const NcclProfilerTable& table() {
  static const auto* const found =
      static_cast<const NcclProfilerTable*>(dlsym(RTLD_DEFAULT, "ncclProfiler_v5"));
  return *found;
}

int eventMask = 0;  // NCCL's is a global, too

/// A communicator as NCCL uses one.
class Communicator {
 public:
  explicit Communicator(std::uint64_t id, int ranks = 4) {
    EXPECT_EQ(table().init(&context_, id, &eventMask, nullptr, 1, ranks, 0, nullptr), 0);
  }
  ~Communicator() { EXPECT_EQ(table().finalize(context_), 0); }

  void* start(NcclEventDescription description) {
    void* handle = &context_;  // nothing good
    EXPECT_EQ(table().startEvent(context_, &handle, &description), 0);
    return handle;
  }
  void collective(const char* function, void* parent = nullptr) {
    stop(startCollective(function, parent));
  }
  void* startCollective(const char* function, void* parent = nullptr) {
    NcclEventDescription description{};
    description.type = nccl_event::kCollective;
    description.parent = parent;
    description.collective = {
        .sequence = next_++, .function = function, .count = 10, .dataType = "ncclBfloat16"};
    return start(description);
  }
  void message(const char* function, int peer) {
    NcclEventDescription description{};
    description.type = nccl_event::kPointToPoint;
    description.pointToPoint = {
        .function = function, .dataType = "ncclInt8", .count = 100, .peer = peer};
    stop(start(description));
  }
  static void stop(void* handle) { EXPECT_EQ(table().stopEvent(handle), 0); }

 private:
  void* context_ = nullptr;
  std::uint64_t next_ = 0;
};

class NcclPluginTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(dlsym(RTLD_DEFAULT, "ncclProfiler_v5"), nullptr); }

  RecordedLog log;
  Recorder recorder{{.logDirectory = log.folder(), .info = {.worldSize = 4}}};
  StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  std::optional<NcclRecording> recording{std::in_place, recorder};
};

TEST_F(NcclPluginTest, OperationsBecomeLinesOfTheirJob) {
  Communicator world(0xabc);
  Communicator pair(0xdef, 2);
  const std::int64_t job = recorder.begin(compute, {.kind = JobKind::kBackward});
  world.collective("ReduceScatter");
  world.message("Send", 3);
  pair.message("Recv", 1);
  recorder.end(compute);
  world.collective("AlltoAll");
  recording.reset();
  const std::string ofJob = "job = " + std::to_string(job);
  EXPECT_THAT(
      log.lines(kMark),
      ElementsAre(
          AllOf(HasSubstr("type = reduce_scatter"), HasSubstr("stream = nccl, bytes = 20"),
                HasSubstr(ofJob), HasSubstr("untimed = 1"), HasSubstr("communicator = abc")),
          AllOf(HasSubstr("type = send"), HasSubstr(", peer = 3, bytes = 100"), HasSubstr(ofJob)),
          AllOf(HasSubstr("type = recv"), Not(HasSubstr(", peer = ")),
                HasSubstr("peer_in_communicator = 1"), HasSubstr("communicator = def")),
          AllOf(HasSubstr("type = all_to_all"), Not(HasSubstr("job = ")))));
}

TEST_F(NcclPluginTest, AForkedChildWritesNoOperationsOfItsParent) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  Communicator world(1);
  world.collective("AllReduce");
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // it must not wait for a thread that it does not have
    recording->flush(true);
    recording.reset();
    world.collective("Broadcast");
    recorder.close();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  world.collective("AllGather");
  recording.reset();
  EXPECT_THAT(log.lines(kMark),
              ElementsAre(HasSubstr("type = all_reduce"), HasSubstr("type = all_gather")));
}

TEST_F(NcclPluginTest, HostSideEventsAreAskedForWhileThereIsARecorder) {
  Communicator world(1);
  EXPECT_EQ(eventMask, (1 << 1) | (1 << 2) | (1 << 9) | (1 << 10));
  recording.reset();
  EXPECT_EQ(eventMask, 0);
  recording.emplace(recorder);
  EXPECT_NE(eventMask, 0) << "a recorder that comes after the communicator";
}

TEST_F(NcclPluginTest, CallsWithNullArgumentsAreSurvived) {
  Communicator world(1);
  NcclEventDescription description{};
  void* handle = &description;
  EXPECT_EQ(table().startEvent(nullptr, &handle, &description), 0);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(table().startEvent(nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(table().stopEvent(nullptr), 0);
  EXPECT_EQ(table().recordEventState(nullptr, 22, nullptr), 0);
  EXPECT_EQ(table().finalize(nullptr), 0);
  description.type = 1;  // a group
  EXPECT_EQ(world.start(description), nullptr);
}

TEST_F(NcclPluginTest, EventsWithoutARecorderOrAfterItAreIgnored) {
  Communicator world(1);
  NcclEventDescription description{};
  description.type = nccl_event::kCollective;
  void* const open = world.start(description);
  recording.reset();
  world.stop(open);
  world.collective("AllReduce");
  recording.emplace(recorder);
  world.collective("Broadcast");
  recording.reset();
  const auto lines = log.lines(kMark);
  EXPECT_THAT(lines, testing::Contains(HasSubstr("type = broadcast")));
  EXPECT_THAT(lines, Not(testing::Contains(HasSubstr("type = all_reduce"))));
}

TEST_F(NcclPluginTest, ASecondRecorderIsNotServedAndSaysSo) {
  NcclRecording second(recorder);
  EXPECT_FALSE(second.isRunning());
  EXPECT_THAT(second.trouble(), HasSubstr("another recorder"));
}

TEST_F(NcclPluginTest, ManyOperationsAtATimeLoseNoneSilently) {
  const std::int64_t lostBefore = ncclEvents().lost();
  Communicator world(1);
  constexpr int kOperations = 20'000;  // more than the pool holds
  for (int i = 0; i < kOperations; ++i) world.collective("AllReduce");
  testing::internal::CaptureStderr();
  recording.reset();
  const std::string said = testing::internal::GetCapturedStderr();
  const auto lost = ncclEvents().lost() - lostBefore;
  EXPECT_EQ(static_cast<std::int64_t>(log.lines(kMark).size()) + lost, kOperations);
  EXPECT_EQ(said.find("operations of NCCL are not in") != std::string::npos, lost > 0) << said;
}

TEST_F(NcclPluginTest, OperationsThatCannotBeWrittenAreReported) {
  Communicator world(1);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  {
    const FileSizeLimit full(0);
    world.collective("AllReduce");
    recording->flush(true);
  }
  std::signal(SIGXFSZ, before);
  testing::internal::CaptureStderr();
  recording.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("1 operations of NCCL are not in " + log.path()),
                    HasSubstr("it could not be written")));
}

TEST_F(NcclPluginTest, ALogThatCannotBeOpenedAgainIsReported) {
  recording.reset();
  std::filesystem::rename(log.path(), log.path() + ".moved");
  std::filesystem::create_directory(log.path());
  testing::internal::CaptureStderr();
  recording.emplace(recorder);
  EXPECT_FALSE(recording->isRunning());
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      AllOf(HasSubstr("pipetrace: NCCL is not recorded: "), HasSubstr(recording->trouble())));
}

TEST_F(NcclPluginTest, ThreadsAndCommunicatorsDoNotMixUp) {
  constexpr int kThreads = 4;
  constexpr int kOperations = 200;
  std::atomic<bool> goesOn = true;
  std::thread trainer([&] {
    while (goesOn) {
      recorder.begin(compute, {.kind = JobKind::kForward});
      recorder.end(compute);
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      Communicator mine(0x100 + static_cast<std::uint64_t>(t));
      NcclEventDescription call{};
      call.type = nccl_event::kCollectiveCall;
      for (int i = 0; i < kOperations; ++i) {
        void* const parent = mine.start(call);
        mine.collective("AllGather", parent);
        mine.stop(parent);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  goesOn = false;
  trainer.join();
  recording.reset();
  std::map<std::string, int> perCommunicator;
  for (const std::string& line : log.lines(kMark)) {
    ++perCommunicator[line.substr(line.find("communicator = ") + 15, 3)];
  }
  EXPECT_THAT(perCommunicator, SizeIs(kThreads));
  for (const auto& [name, count] : perCommunicator) EXPECT_EQ(count, kOperations) << name;
}

TEST(StaticNcclPluginTest, NcclLooksForThePluginInTheProgramUnlessTheUserNamesOne) {
  unsetenv("NCCL_PROFILER_PLUGIN");
  useStaticNcclPlugin();
  EXPECT_STREQ(std::getenv("NCCL_PROFILER_PLUGIN"), "STATIC_PLUGIN");
  setenv("NCCL_PROFILER_PLUGIN", "inspector", 1);
  useStaticNcclPlugin();
  EXPECT_STREQ(std::getenv("NCCL_PROFILER_PLUGIN"), "inspector");
  unsetenv("NCCL_PROFILER_PLUGIN");
}

/// The number after "sequence = " of each line.
std::vector<int> sequences(const std::vector<std::string>& lines) {
  std::vector<int> numbers;
  for (const std::string& line : lines) {
    numbers.push_back(std::stoi(line.substr(line.find("sequence = ") + 11)));
  }
  return numbers;
}

TEST(StaticNcclPluginTest, AProgramsOwnRecorderTakesTheLogOverFromThePluginsRecorder) {
  RecordedLog log;
  const auto runs = [&] {  // Meta, End
    std::string marks;
    for (const std::string& line : log.lines("Profiler ")) {
      if (line[0] == 'M' || line[0] == 'E') marks += line[0];
    }
    return marks;
  };
  constexpr int kBefore = 300;
  constexpr int kAfter = 200;
  setenv("PIPETRACE", "1", 1);
  setenv("PIPETRACE_LOG_DIR", log.folder().c_str(), 1);
  {
    Communicator world(1);
    unsetenv("PIPETRACE");
    for (int i = 0; i < kBefore - 1; ++i) world.collective("AllReduce");
    void* const atTheTime = world.startCollective("AllReduce");
    EXPECT_EQ(runs(), "M") << "the plugin's";
    Recorder recorder({.logDirectory = log.folder(), .info = {.worldSize = 4}});
    EXPECT_EQ(runs(), "MEM") << "lines after a Meta line belong to its run";
    std::optional<NcclRecording> recording(std::in_place, recorder);
    EXPECT_EQ(recording->trouble(), "");
    Communicator::stop(atTheTime);
    for (int i = 0; i < kAfter; ++i) world.collective("AllGather");
    recording.reset();
    recorder.close();
  }
  unsetenv("PIPETRACE_LOG_DIR");
  EXPECT_EQ(runs(), "MEME");
  EXPECT_THAT(log.lines("type = all_reduce"), SizeIs(kBefore));
  EXPECT_THAT(log.lines("type = all_gather"), SizeIs(kAfter));
  std::vector<int> each(kBefore + kAfter);
  std::iota(each.begin(), each.end(), 0);
  EXPECT_THAT(sequences(log.lines(kMark)), testing::UnorderedElementsAreArray(each));
  const int fd = open(log.path().c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0) << "nobody has it any more";
  close(fd);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(log.folder()), {}), 1)
      << "no ring file is left";
}

std::string logged;
void keepLog(int, unsigned long, const char*, int, const char* format, ...) { logged = format; }

TEST(StaticNcclPluginTest, WithoutARecorderNoEventsAreAskedForAndNcclsLogSaysWhy) {
  unsetenv("PIPETRACE");
  int mask = -1;
  void* context = nullptr;
  EXPECT_EQ(table().init(&context, 1, &mask, nullptr, 1, 1, 0, keepLog), 0);
  EXPECT_EQ(mask, 0);
  EXPECT_THAT(logged, HasSubstr("PIPETRACE=1 is not set"));
  EXPECT_EQ(table().finalize(context), 0);
}

}  // namespace
}  // namespace pipetrace
