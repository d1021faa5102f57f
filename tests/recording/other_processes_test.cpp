// Recorders and other processes: one with the same log, children, others that fill the disk.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "profiler/cpu_stream.h"
#include "profiler/pipetrace.h"
#include "profiler/testing/recorder_fixture.h"
#include "trace/error.h"
#include "trace/testing/forked_child.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A child process that runs `work` and exits with its result. The destructor kills it if it was
/// not waited for.
class Child {
 public:
  explicit Child(const std::function<int()>& work) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);  // a child that waits for ever fails its test
    _exit(work());
  }
  ~Child() {
    if (!isWaitedFor_) kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  /// Its exit code; 128 + the number of the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    isWaitedFor_ = true;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  const pid_t pid_;
  bool isWaitedFor_ = false;
};

/// A point that one of a child and its parent waits for the other to reach.
class Signal {
 public:
  Signal() { EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~Signal() {
    for (const int end : ends_) close(end);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void give() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
  void await() const {
    char byte = 0;
    EXPECT_EQ(read(ends_[0], &byte, 1), 1);
  }

 private:
  std::array<int, 2> ends_{};
};

void record(Recorder& recorder, StreamId stream, int jobs, std::int64_t firstId = 0) {
  for (int i = 0; i < jobs; ++i) {
    recorder.begin(stream, {.id = firstId + i});
    recorder.end(stream);
  }
}

TEST(OtherProcessesTest, ALogThatAnotherProcessWritesIsRefusedAndStaysWhole) {
  RecordedLog log;
  const Signal isOpen;
  const Signal goOn;
  Child other([&] {
    Recorder recorder(optionsFor(log));
    const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
    isOpen.give();
    goOn.await();
    record(recorder, compute, 3);
    recorder.close();
    return 0;
  });
  isOpen.await();
  const auto open = [&] { Recorder recorder(optionsFor(log)); };
  EXPECT_THAT(messageOf(open),
              AllOf(HasSubstr(log.path()), HasSubstr("process " + std::to_string(other.pid())),
                    HasSubstr("rank")));
  pipetrace_options options;
  pipetrace_options_init(&options);
  options.enabled = PIPETRACE_ON;
  options.log_directory = log.folder().c_str();
  pipetrace_recorder* recorder = nullptr;
  EXPECT_EQ(pipetrace_open(&options, &recorder), -1);
  EXPECT_EQ(recorder, nullptr) << "which every call takes";
  EXPECT_THAT(pipetrace_error(), HasSubstr("process " + std::to_string(other.pid())));
  options.rank = 1;
  EXPECT_EQ(pipetrace_open(&options, &recorder), 0) << "another rank has another log";
  pipetrace_close(recorder);

  goOn.give();
  EXPECT_EQ(other.wait(), 0);
  EXPECT_THAT(log.lines("Profiler Meta: "), SizeIs(1));
  EXPECT_THAT(log.lines(kInfo), SizeIs(3));
  EXPECT_THAT(log.lines(kEnd), SizeIs(1));
  EXPECT_EQ(messageOf(open), "") << "it is free again";
}

TEST(OtherProcessesTest, AReaderThatLooksWhetherALogIsWrittenKeepsNoRecorderOut) {
  RecordedLog log;
  { Recorder recorder(optionsFor(log)); }
  const Signal isLooking;
  Child reader([&] {
    const int fd = open(log.path().c_str(), O_RDONLY);
    const int taken = flock(fd, LOCK_SH | LOCK_NB);
    isLooking.give();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return taken;
  });
  isLooking.await();
  EXPECT_EQ(messageOf([&] { Recorder recorder(optionsFor(log)); }), "");
  EXPECT_EQ(reader.wait(), 0);
}

TEST(OtherProcessesTest, ARankStartedAgainAfterACrashGetsItsLogEvenWhileAChildLivesOn) {
  RecordedLog log;
  const Signal hasChild;
  const Signal goOn;
  Child rank([&] {
    Recorder recorder(optionsFor(log));
    const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
    record(recorder, compute, 2);
    const pid_t loader = fork();
    if (loader == 0) {  // a data loader, which does not notice
      alarm(20);
      hasChild.give();
      goOn.await();
      _exit(0);
    }
    pause();
    return 0;
  });
  hasChild.await();
  rank.kill();
  Recorder again(optionsFor(log));
  const StreamId compute = again.addStream("compute", std::make_unique<CpuStream>());
  record(again, compute, 1, 7);
  again.close();
  goOn.give();
  EXPECT_THAT(log.lines("Profiler Meta: "), SizeIs(2));
  EXPECT_THAT(log.lines("id = 7"), SizeIs(1));
}

TEST(OtherProcessesTest, ARecorderThatGivesWayEndsForTheNextOfItsProcessAndForNoOtherProcess) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  RecordedLog log;
  std::unique_ptr<Recorder> first;
  RecorderOptions options = optionsFor(log);
  options.giveWay = [&] { first.reset(); };
  first = std::make_unique<Recorder>(options);
  options.giveWay = {};
  const auto isRefused = [&] {
    return messageOf([&] { Recorder third(options); }).empty() ? 1 : 0;
  };
  EXPECT_EQ(Child(isRefused).wait(), 0);
  Recorder second(options);
  EXPECT_EQ(first, nullptr);
  EXPECT_EQ(Child(isRefused).wait(), 0) << "the log is the second one's now";
  EXPECT_THAT(messageOf([&] { Recorder third(options); }), HasSubstr("of this program"));
  second.close();
  EXPECT_THAT(log.lines("Profiler "), ElementsAre(HasSubstr("Meta"), HasSubstr("End"),
                                                  HasSubstr("Meta"), HasSubstr("End")));
}

TEST(OtherProcessesTest, ARecorderThatDoesNotGiveWaySharesItsLogWithItsProcessOnly) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.giveWay = [] {};  // as another copy of this library, which cannot be asked
  auto first = std::make_unique<Recorder>(options);
  options.giveWay = {};
  Recorder second(options);
  first.reset();
  Child other([&] { return messageOf([&] { Recorder third(options); }).empty() ? 1 : 0; });
  EXPECT_EQ(other.wait(), 0) << "the log is the second one's now";
}

TEST(OtherProcessesTest, AForkedChildRecordsNothingAndHarmsNothing) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  RecordedLog log;
  auto recorder = std::make_unique<Recorder>(optionsFor(log));
  const StreamId compute = recorder->addStream("compute", std::make_unique<CpuStream>());
  recorder->begin(compute, {.id = 0});
  Child child([&] {
    if (recorder->isOn()) return 1;
    recorder->end(compute);  // of the parent's open job
    record(*recorder, compute, 20'000, 100);
    recorder->counter("of the child", 1);
    recorder->addCounter("of the child", "", [] { return 1.0; });
    recorder->endStep(0);
    recorder->addStream("send", std::make_unique<CpuStream>());
    recorder->flush();
    recorder->close();
    recorder.reset();
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(fs::exists(log.path() + ".ring")) << "which is the parent's";
  recorder->end(compute);
  record(*recorder, compute, 10, 1);
  recorder->close();
  EXPECT_THAT(log.lines(kInfo), SizeIs(11));
  EXPECT_THAT(log.lines("of the child"), IsEmpty());
  EXPECT_EQ(log.number(kEnd, "written"), 11);
  EXPECT_EQ(log.number(kEnd, "dropped"), 0);
  EXPECT_EQ(log.number(kEnd, "errors"), 0);
}

TEST(OtherProcessesTest, AForkedChildMayCloseARecorderOfTheCHeader) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  RecordedLog log;
  pipetrace_options options;
  pipetrace_options_init(&options);
  options.enabled = PIPETRACE_ON;
  options.log_directory = log.folder().c_str();
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0);
  const int compute = pipetrace_add_stream(recorder, "compute");
  pipetrace_job job;
  pipetrace_job_init(&job, PIPETRACE_FORWARD);
  Child child([&] {
    if (pipetrace_begin(recorder, compute, &job) != PIPETRACE_NOT_GIVEN) return 1;
    pipetrace_end(recorder, compute);
    return pipetrace_close(recorder) == 0 ? 0 : 2;
  });
  EXPECT_EQ(child.wait(), 0);
  pipetrace_begin(recorder, compute, &job);
  pipetrace_end(recorder, compute);
  EXPECT_EQ(pipetrace_close(recorder), 0);
  EXPECT_THAT(log.lines(kInfo), SizeIs(1));
}

TEST(OtherProcessesTest, AForkedChildMayOpenARecorderOfItsOwn) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  Child child([&] {
    RecorderOptions options = optionsFor(log);
    options.info.rank = 1;
    Recorder own(options);
    record(own, own.addStream("compute", std::make_unique<CpuStream>()), 2);
    own.close();
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_THAT(log.lines(kInfo, 1), SizeIs(2));
  EXPECT_EQ(log.number(kEnd, "written", 1), 2);
}

/// Fills the disk that `folder` is on to the last byte.
void fill(const std::string& folder) {
  const int file = open((folder + "/full").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const std::string zeros(4096, '\0');
  while (write(file, zeros.data(), zeros.size()) > 0) {
  }
  close(file);
}

/// Mounts a disk at `folder` that only this process sees, and that ends with it.
bool mountSmallDisk(const std::string& folder) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m") == 0;
}

TEST(OtherProcessesTest, OnAFullDiskTheEndIsWrittenWhereTheRingFileWas) {
  constexpr int kCannotMount = 77;
  RecordedLog disk;
  RecordedLog result;
  Child child([&] {
    if (!mountSmallDisk(disk.folder())) return kCannotMount;
    Recorder recorder(optionsFor(disk));
    const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
    record(recorder, compute, 5);
    recorder.flush();
    fill(disk.folder());
    record(recorder, compute, 1000);
    const std::string said = messageOf([&] { recorder.close(); });
    record(recorder, compute, 100);  // too late, and harmless
    fs::copy_file(disk.path(), result.path());
    return said.find("can still be read") != std::string::npos ? 0 : 1;
  });
  const int outcome = child.wait();
  if (outcome == kCannotMount) GTEST_SKIP() << "no right to mount a disk that can be filled";
  EXPECT_EQ(outcome, 0);
  ASSERT_THAT(result.lines(kEnd), SizeIs(1));
  const auto written = static_cast<long long>(result.lines(kInfo).size());
  EXPECT_GE(written, 5);
  EXPECT_LT(written, 1005);
  EXPECT_EQ(result.number(kEnd, "written"), written);
  EXPECT_EQ(result.number(kEnd, "dropped"), 1005 - written);
}

TEST(OtherProcessesTest, AStreamThatComesWhenTheDiskIsFullIsKeptInMemory) {
  constexpr int kCannotMount = 77;
  RecordedLog disk;
  RecordedLog result;
  Child child([&] {
    if (!mountSmallDisk(disk.folder())) return kCannotMount;
    Recorder recorder(optionsFor(disk));
    const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
    fill(disk.folder());
    testing::internal::CaptureStderr();
    // A touch of memory that the disk has no room for would end the process.
    const StreamId send = recorder.addStream("send", std::make_unique<CpuStream>());
    const std::string said = testing::internal::GetCapturedStderr();
    fs::remove(disk.folder() + "/full");
    for (const StreamId stream : {compute, send}) record(recorder, stream, 3);
    recorder.close();
    fs::copy_file(disk.path(), result.path());
    return said.find("No space left on device") != std::string::npos ? 0 : 1;
  });
  const int outcome = child.wait();
  if (outcome == kCannotMount) GTEST_SKIP() << "no right to mount a disk that can be filled";
  EXPECT_EQ(outcome, 0);
  EXPECT_EQ(result.number(kEnd, "written"), 6);
  EXPECT_EQ(result.number(kEnd, "dropped"), 0);
}

}  // namespace
}  // namespace pipetrace
