// The warnings about a log that was not closed, and about the records that it lacks.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parser/testing/load_timeline.h"
#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"
#include "tests/recording/left_over.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
namespace rf = ring_format;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// One of two jobs is in the log, the other in the ring file.
struct HalfWritten : LeftOver {
  HalfWritten() {
    job(compute, 0);
    recorder.flush();
    job(compute, 1);
    die();
  }

  /// Reads the files again; returns the warning about the missing end.
  Diagnostic saidOfTheEnd() {
    diagnostics = {};
    load();
    for (const Diagnostic& each : diagnostics.list()) {
      if (each.message.starts_with("no Profiler End")) return each;
    }
    return {};
  }
};

TEST(MissingEndTest, TheWarningAboutTheEndIsTrueWithAndWithoutTheRingFile) {
  HalfWritten left;
  const Diagnostic with = left.saidOfTheEnd();
  EXPECT_THAT(with.message, HasSubstr("the program ended"));
  EXPECT_THAT(with.advice, HasSubstr("jobs that were open are missing"));
  EXPECT_THAT(left.messages(), Contains(HasSubstr("1 jobs that are not in the log")));
  fs::remove(left.ring);
  EXPECT_THAT(left.saidOfTheEnd().advice, HasSubstr("jobs after its last line are missing"));
  EXPECT_THAT(left.messages(), Not(Contains(HasSubstr("read from"))));
}

TEST(MissingEndTest, WhereRecordsWereLostTheWarningDoesNotSayThatOnlyOpenJobsAreMissing) {
  HalfWritten left;
  const std::string whole = left.ringBytes();
  ASSERT_THAT(left.saidOfTheEnd().advice, HasSubstr("jobs that were open are missing"));
  const auto expectLosses = [&](std::size_t at, std::uint64_t value) {
    left.poke(at, value);
    EXPECT_THAT(left.saidOfTheEnd().advice,
                AllOf(HasSubstr("records that were lost"), Not(HasSubstr("only jobs"))))
        << at;
    left.setRingBytes(whole);
  };
  const std::size_t send = left.laneAt(1);
  expectLosses(send + offsetof(rf::LaneHeader, dropped), 1);
  expectLosses(offsetof(rf::FileHeader, countersDropped), 1);
  expectLosses(offsetof(rf::FileHeader, linesLost), 1);
  expectLosses(offsetof(rf::FileHeader, lanesNotKept), 2);
  // A disk that is full keeps a stream out of the file: nothing of it could be read.
  expectLosses(offsetof(rf::FileHeader, laneOffset), 0);
  EXPECT_THAT(left.messages(), Not(Contains(HasSubstr("dropped"))));
  left.poke(offsetof(rf::FileHeader, linesLost), std::uint64_t{7});
  left.load();
  EXPECT_THAT(left.messages(), Contains(HasSubstr("were dropped")));
}

TEST(MissingEndTest, StreamsWithoutRoomInTheRingFileAreReported) {
  HalfWritten left;
  const auto said = Contains(HasSubstr("2 streams found no room in this ring file"));
  EXPECT_THAT(left.messages(), Not(said));
  left.poke(offsetof(rf::FileHeader, lanesNotKept), std::uint64_t{2});
  EXPECT_EQ(left.load().eventCount(), 2u);
  EXPECT_THAT(left.messages(), said);
  // The size of an older file's Meta line.
  left.poke(offsetof(rf::FileHeader, lanesNotKept), std::uint64_t{0x2c31203d20656c69});
  EXPECT_THAT(left.saidOfTheEnd().advice, HasSubstr("jobs that were open are missing"));
}

TEST(MissingEndTest, WhetherTheProgramStillRunsIsReportedWhereItIsKnown) {
  LeftOver left;
  left.job(left.compute, 0);
  left.recorder.flush();
  left.recorder.begin(left.compute, {.kind = JobKind::kBackward, .microBatch = 6});
  left.die();
  const auto said = [&](const std::string& folder) {
    Diagnostics diagnostics;
    test::loadTimeline({folder}, {}, diagnostics);
    std::string text;
    for (const Diagnostic& each : diagnostics.list()) text += toText(each) + "\n";
    return text;
  };
  const auto isRecording = [](const std::string& folder) {
    Diagnostics diagnostics;
    return test::loadTimeline({folder}, {}, diagnostics).ranks.at(0).isRecording;
  };
  const char* const maybe = "it still runs";
  EXPECT_THAT(said(left.original.folder()),
              AllOf(HasSubstr("the program still runs"), HasSubstr("the program is in backward"),
                    Not(HasSubstr(maybe)), Not(HasSubstr("ended"))));
  EXPECT_TRUE(isRecording(left.original.folder()));
  EXPECT_FALSE(isRecording(left.copy.folder()));
  // Nobody locks a copy, and its process lives.
  EXPECT_THAT(said(left.copy.folder()),
              AllOf(HasSubstr("without closing its log, or it still runs"),
                    HasSubstr("ended in backward"), HasSubstr("unless it still runs")));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  left.poke(offsetof(rf::FileHeader, pid), static_cast<std::int64_t>(child));
  EXPECT_THAT(said(left.copy.folder()),
              AllOf(HasSubstr("ended without closing its log;"), HasSubstr("ended in backward"),
                    Not(HasSubstr(maybe))));
}

TEST(MissingEndTest, ARunningProgramIsRecognizedAlsoByARecorderThatGivesWay) {
  const RecordedLog log;
  RecorderOptions options = LeftOver::options(log);
  options.giveWay = [] {};
  Recorder recorder(options);
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  recorder.begin(compute, {});
  recorder.end(compute);
  recorder.flush();
  Diagnostics diagnostics;
  test::loadTimeline({log.folder()}, {}, diagnostics);
  EXPECT_THAT(diagnostics.list().at(0).message, HasSubstr("the program still runs"));
}

}  // namespace
}  // namespace pipetrace
