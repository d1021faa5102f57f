// Job logs in frames of zstd (PIPETRACE_LOG_COMPRESS).
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "parser/testing/load_timeline.h"
#include "profiler/cpu_stream.h"
#include "profiler/process/log_file.h"
#include "profiler/recorder.h"
#include "profiler/testing/environment.h"
#include "profiler/testing/recorder_fixture.h"
#include "tests/recording/numbered_jobs.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kJobs = 5'000;

class CompressedLogTest : public testing::Test {
 protected:
  CompressedLogTest() { setenv("PIPETRACE_LOG_COMPRESS", "zstd", 1); }

  static void record(Recorder& recorder, std::int64_t from, std::int64_t to) {
    for (std::int64_t n = from; n < to; ++n) {
      recorder.begin(0, jobOf(0, n));
      recorder.end(0);
    }
  }
  static std::unique_ptr<Recorder> recorderIn(const RecordedLog& log) {
    auto recorder = std::make_unique<Recorder>(optionsFor(log));
    recorder->addStream(kNames[0], std::make_unique<CpuStream>());
    return recorder;
  }

  /// The number of jobs, each of which is there once and in order.
  std::int64_t jobsIn(const std::string& input) {
    diagnostics_ = {};
    const Timeline timeline = test::loadTimeline({input}, {}, diagnostics_);
    const Track* const track = timeline.findTrack(0, kNames[0]);
    if (track == nullptr) return 0;
    std::int64_t before = -1;
    for (const Event& event : track->events) {
      EXPECT_EQ(event.job, before + 1);
      before = event.job;
    }
    return before + 1;
  }
  std::vector<std::string> said() const {
    std::vector<std::string> texts;
    for (const Diagnostic& each : diagnostics_.list()) texts.push_back(toText(each));
    return texts;
  }

  const Environment clean_;
  const RecordedLog log_;
  const std::string path_ = log_.path() + ".zst";
  Diagnostics diagnostics_;
};

TEST_F(CompressedLogTest, HoldsAllJobsInLessThanHalfOfTheRoom) {
  {
    const auto recorder = recorderIn(log_);
    record(*recorder, 0, kJobs);
    recorder->close();
  }
  EXPECT_FALSE(fs::exists(log_.path()));
  EXPECT_LT(fs::file_size(path_), kJobs * 40);
  for (const std::string& input : {log_.folder(), path_}) {
    EXPECT_EQ(jobsIn(input), kJobs);
    EXPECT_THAT(said(), IsEmpty());
  }
}

TEST_F(CompressedLogTest, ASecondRunIsAppendedAndTheLastOneIsRead) {
  for (const std::int64_t jobs : {kJobs, std::int64_t{7}}) {
    const auto recorder = recorderIn(log_);
    record(*recorder, 0, jobs);
  }
  EXPECT_EQ(jobsIn(path_), 7);
  EXPECT_THAT(said(), Contains(HasSubstr("it holds 2 runs")));
}

TEST_F(CompressedLogTest, AfterAKillAllJobsAreThere) {
  const pid_t child = fork();
  if (child == 0) {
    Recorder* const recorder = recorderIn(log_).release();
    record(*recorder, 0, kJobs);
    recorder->flush();
    record(*recorder, kJobs, kJobs + 100);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(jobsIn(log_.folder()), kJobs + 100);
  EXPECT_THAT(said(), Contains(HasSubstr("no Profiler End")));
}

TEST_F(CompressedLogTest, WhenTheLastFrameIsTornTheOthersAreRead) {
  {
    const auto recorder = recorderIn(log_);
    record(*recorder, 0, kJobs);
    recorder->close();
  }
  const auto size = fs::file_size(path_);
  fs::resize_file(path_, size - 10);  // in the frame of the end
  EXPECT_EQ(jobsIn(path_), kJobs);
  EXPECT_THAT(said(), Contains(HasSubstr("its compressed data is cut off")));
  // A run behind it: what is between them is said to be damaged.
  {
    const auto recorder = recorderIn(log_);
    record(*recorder, 0, 9);
    recorder->close();
  }
  EXPECT_EQ(jobsIn(path_), 9);
  EXPECT_THAT(said(), Contains(HasSubstr("a part of its compressed data is damaged")));
}

TEST_F(CompressedLogTest, AWordThatMeansNothingIsRefused) {
  setenv("PIPETRACE_LOG_COMPRESS", "lzma", 1);
  EXPECT_EQ(messageOf([&] { Recorder recorder(optionsFor(log_)); }),
            "PIPETRACE_LOG_COMPRESS is \"lzma\": set it to zstd, or to none");
  setenv("PIPETRACE_LOG_COMPRESS", "none", 1);
  Recorder(optionsFor(log_)).close();
  EXPECT_TRUE(fs::exists(log_.path()));
}

}  // namespace
}  // namespace pipetrace
