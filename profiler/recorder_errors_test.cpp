// The errors of a recorder that cannot be opened, or is called in a way that makes no sense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"
#include "profiler/testing/resource_limit.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The error of a recorder that is refused.
std::string refusalOf(const std::string& folder) {
  try {
    const Recorder recorder({.logDirectory = folder});
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing: it was opened";
}

/// While it lives, a new thread gets no stack.
class NoRoomForThreads {
 public:
  NoRoomForThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge = before_;
    pthread_attr_setstacksize(&huge, std::size_t{1} << 46);
    pthread_setattr_default_np(&huge);
  }
  ~NoRoomForThreads() { pthread_setattr_default_np(&before_); }
  NoRoomForThreads(const NoRoomForThreads&) = delete;
  NoRoomForThreads& operator=(const NoRoomForThreads&) = delete;

 private:
  pthread_attr_t before_;
};

TEST(RecorderErrorsTest, ALinkInThePlaceOfTheLogIsRefusedAndItsTargetStaysAsItIs) {
  RecordedLog log;
  std::ofstream(log.folder() + "/target") << "mine\n";
  std::filesystem::create_symlink("target", log.path());
  EXPECT_THAT(refusalOf(log.folder()),
              AllOf(HasSubstr("cannot open the job log " + log.path()),
                    HasSubstr("it is a symbolic link"), HasSubstr("remove the link")));
  EXPECT_EQ(test::fileText(log.folder() + "/target"), "mine\n");
  EXPECT_FALSE(std::filesystem::exists(log.path() + ".ring"));
}

TEST(RecorderErrorsTest, AFolderThatOthersMayWriteToIsSaidInOneLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the line comes once in a process
  RecordedLog log;
  std::filesystem::permissions(log.folder(), std::filesystem::perms::all);
  const auto recordTwice = [&] {
    for (int i = 0; i < 2; ++i) const Recorder recorder({.logDirectory = log.folder()});
    std::exit(0);
  };
  EXPECT_EXIT(recordTwice(), testing::ExitedWithCode(0),
              testing::MatchesRegex("pipetrace: warning: other users can replace files in [^\n]*: "
                                    "they may write to it; chmod go-w it, or choose another "
                                    "folder\n"));
}

TEST(RecorderErrorsTest, WithoutAFreeThreadTheErrorNamesTheLimitToRaise) {
  RecordedLog log;
  std::string refusal;
  {
    const NoRoomForThreads none;
    refusal = refusalOf(log.folder());
  }
  EXPECT_THAT(refusal, AllOf(HasSubstr("cannot start the thread that writes the job log"),
                             HasSubstr("ulimit -u")));
  // Its run is over: no file is left that would look like that of a killed program.
  EXPECT_EQ(log.number("Profiler End: ", "written"), 0);
  EXPECT_FALSE(std::filesystem::exists(log.path() + ".ring"));
}

TEST(RecorderErrorsTest, WithoutAFreeFileDescriptorTheErrorNamesTheLimitToRaise) {
  RecordedLog log;
  std::string refusal;
  {
    const ResourceLimit none(RLIMIT_NOFILE, 0);
    refusal = refusalOf(log.folder());
  }
  EXPECT_THAT(refusal, AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n")));
}

TEST(RecorderErrorsTest, APipeWithoutAReaderIsRefusedAndNotWaitedFor) {
  RecordedLog log;
  ASSERT_EQ(mkfifo(log.path().c_str(), 0600), 0);
  EXPECT_THAT(refusalOf(log.folder()), HasSubstr("cannot open the job log"));
}

TEST(RecorderErrorsTest, AFolderThatCannotBeMadeComesWithAdvice) {
  EXPECT_THAT(refusalOf("/dev/null/logs"), HasSubstr("choose a log folder"));
}

TEST(RecorderErrorsTest, ACounterWithoutANameIsCountedAsAnError) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder()});
  recorder.counter("", 1);
  recorder.counter(nullptr, 2);
  recorder.counter("loss", 3);
  EXPECT_THROW(recorder.addCounter("", "ms", [] { return 4.0; }), Error);
  recorder.close();
  EXPECT_EQ(log.lines("Counter: ").size(), 1u);
  EXPECT_EQ(log.number("Profiler End: ", "written"), 1);
  EXPECT_EQ(log.number("Profiler End: ", "misuses"), 2);
}

}  // namespace
}  // namespace pipetrace
