#include "parser/ring/recorder_state.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "parser/testing/files.h"
#include "trace/log/ring_format.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
namespace rf = ring_format;

/// A process that has ended.
pid_t deadProcess() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

class RecorderWatchTest : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    log_ = write("workerlog.0", metaOf(thisHost()));
  }

  static std::string metaOf(const std::string& host) {
    return "Profiler Meta: version = 1, rank = 0, host = \"" + host +
           "\", ring = workerlog.0.ring\n";
  }

  void writeRing(std::int64_t process) const {
    rf::FileHeader header{};
    header.magic = rf::kMagic;
    rf::describeLayout(header, 64);
    header.pid = process;
    write("workerlog.0.ring", {reinterpret_cast<const char*>(&header), sizeof(header)});
  }

  bool isGone(const std::string& host) const {
    RecorderWatch watch(log_);
    watch.addLines("noise\n" + metaOf(host) + "more\n");
    watch.look();
    return watch.isGone();
  }

  std::string log_;
};

TEST_F(RecorderWatchTest, ARecorderThatNoLongerHoldsTheLogIsGone) {
  RecorderWatch watch(log_);
  const int fd = ::open(log_.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
  watch.look();
  EXPECT_FALSE(watch.isGone());
  EXPECT_EQ(recorderState(log_, "", 0), RecorderState::kRecords);
  ::close(fd);
  watch.look();
  EXPECT_TRUE(watch.isGone());
  const int next = ::open(log_.c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(::flock(next, LOCK_EX | LOCK_NB), 0) << "looking leaves no lock behind";
  ::close(next);
}

TEST_F(RecorderWatchTest, ALogThatWasNeverLockedIsNotGivenUp) {
  RecorderWatch watch(log_);
  for (int i = 0; i < 3; ++i) watch.look();
  EXPECT_FALSE(watch.isGone());
  EXPECT_FALSE(isGone(thisHost())) << "it names a ring file that is not there";
}

TEST_F(RecorderWatchTest, ARecorderOnAnotherHostIsOutOfSightUnlessItsLockIsSeen) {
  const auto isOutOfSight = [&](const std::string& host) {
    RecorderWatch watch(log_);
    watch.addLines(metaOf(host));
    watch.look();
    return watch.isOutOfSight();
  };
  EXPECT_TRUE(isOutOfSight("another host"));
  EXPECT_FALSE(isOutOfSight(thisHost()));
  EXPECT_FALSE(isOutOfSight("")) << "it is not known where it is";
  const int fd = ::open(log_.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(isOutOfSight("another host")) << "the file system shows its lock";
  ::close(fd);
}

TEST_F(RecorderWatchTest, ARingFileOfADeadProcessOfThisHostShowsThatItsRecorderIsGone) {
  writeRing(deadProcess());
  EXPECT_TRUE(isGone(thisHost()));
  EXPECT_FALSE(isGone("another host")) << "whose processes have other numbers";
  EXPECT_FALSE(isGone(""));
  writeRing(::getpid());
  EXPECT_FALSE(isGone(thisHost())) << "as of a copy of a log that is being written";
  writeRing(0);
  EXPECT_FALSE(isGone(thisHost()));
}

TEST_F(RecorderWatchTest, ASharedLockShowsThatTheProgramRunsIfTheProcessOfTheRingFileHoldsIt) {
  const pid_t other = deadProcess();
  EXPECT_EQ(recorderState(log_, thisHost(), ::getpid()), RecorderState::kUnknown);
  const int fd = ::open(log_.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_SH | LOCK_NB), 0);
  EXPECT_EQ(recorderState(log_, thisHost(), ::getpid()), RecorderState::kRecords);
  EXPECT_EQ(recorderState(log_, thisHost(), other), RecorderState::kEnded) << "that of a reader";
  EXPECT_EQ(recorderState(log_, thisHost(), 0), RecorderState::kUnknown);
  writeRing(::getpid());
  EXPECT_FALSE(isGone(thisHost()));
  ::close(fd);
}

TEST_F(RecorderWatchTest, ARingFileThatIsAFifoIsNotOpened) {
  writeRing(deadProcess());
  const std::string header = contents("workerlog.0.ring");
  fs::remove(path("workerlog.0.ring"));
  ASSERT_EQ(::mkfifo(path("workerlog.0.ring").c_str(), 0600), 0);
  const int fd = ::open(path("workerlog.0.ring").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::write(fd, header.data(), header.size()), std::ssize(header));
  EXPECT_FALSE(isGone(thisHost())) << "opening one without a writer waits for ever";
  ::close(fd);
}

TEST_F(RecorderWatchTest, AProcessWhoseExitCodeWasNotAskedForIsGone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  writeRing(child);
  EXPECT_TRUE(isGone(thisHost()));
  ::waitpid(child, nullptr, 0);
}

TEST_F(RecorderWatchTest, AMissingLogShowsNothing) {
  fs::remove(log_);
  EXPECT_EQ(RecorderLock::of(log_), RecorderLock::State::kUnknown);
  EXPECT_EQ(recorderState(log_, thisHost(), deadProcess()), RecorderState::kUnknown);
}

}  // namespace
}  // namespace pipetrace
