// Part and version of jobs that are in a ring file only, and ring files of an earlier version.
#include <gmock/gmock.h>

#include "parser/chrome/write/writer.h"
#include "parser/testing/load_timeline.h"
#include "profiler/pipetrace.h"
#include "tests/recording/left_over.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// The Chrome JSON of that timeline.
std::string profileOf(const Timeline& timeline) {
  const RecordedLog folder;
  OutputFile out(folder.folder() + "/profile.json");
  writeChromeJson(timeline, {}, out);
  out.commit();
  return test::fileText(folder.folder() + "/profile.json");
}

const auto kHasBoth = AllOf(HasSubstr(R"("part":3)"), HasSubstr(R"("version":12)"));
const auto kHasNone = AllOf(Not(HasSubstr(R"("part":)")), Not(HasSubstr(R"("version":)")));

void record(LeftOver& left, const Job& job) {
  left.recorder.begin(left.compute, job);
  left.recorder.end(left.compute);
}

TEST(RingPartTest, PartAndVersionAreTheSameFromTheRingFileAndFromTheLog) {
  LeftOver left;
  record(left, {.kind = JobKind::kForward, .part = 3, .version = 12});
  left.die();
  left.recorder.close();
  EXPECT_THAT(test::fileText(left.copy.path()), Not(HasSubstr("Profiler Info")));
  EXPECT_THAT(profileOf(left.load()), kHasBoth) << "from both files";
  EXPECT_THAT(profileOf(test::loadTimeline({left.ring}, {}, left.diagnostics)), kHasBoth);
  EXPECT_THAT(profileOf(test::loadTimeline({left.original.folder()}, {}, left.diagnostics)),
              kHasBoth);
}

TEST(RingPartTest, JobsWithoutThemHaveNoSuchArguments) {
  LeftOver left;
  left.job(left.compute, 1);
  left.job(left.send, 1, JobKind::kSendForward);
  left.recorder.begin(left.compute, {.bytes = 77});
  left.recorder.end(left.compute, 88);
  left.die();
  const std::string profile = profileOf(left.load());
  EXPECT_THAT(profile, AllOf(HasSubstr(R"("bytes":4096)"), kHasNone));
}

TEST(RingPartTest, BothComeBackFromARingFileThatTheHeaderForCWrote) {
  const RecordedLog log;
  pipetrace_options options;
  pipetrace_options_init(&options);
  options.enabled = PIPETRACE_ON;
  options.log_directory = log.folder().c_str();
  pipetrace_recorder* recorder = nullptr;
  ASSERT_EQ(pipetrace_open(&options, &recorder), 0) << pipetrace_error();
  ASSERT_EQ(pipetrace_add_stream(recorder, "compute"), 0);
  pipetrace_job job;
  pipetrace_job_init(&job, PIPETRACE_FORWARD);
  job.part = 3;
  job.version = 12;
  pipetrace_begin(recorder, 0, &job);
  pipetrace_end(recorder, 0);  // no step has ended: its line waits for a second
  Diagnostics diagnostics;
  EXPECT_THAT(profileOf(test::loadTimeline({LeftOver::fileIn(log.folder())}, {}, diagnostics)),
              kHasBoth);
  EXPECT_EQ(pipetrace_close(recorder), 0);
}

/// Where version 1 had a slot's bytes, counted by hand: behind sequence, kind, chunk (8 bytes),
/// begin, end, id and action.
constexpr std::size_t kBytesOfVersion1 = 40;

TEST(RingPartTest, AFileOfVersion1IsReadAndHasNeither) {
  LeftOver left;
  left.job(left.compute, 1);
  left.job(left.compute, 2);
  left.job(left.send, 1, JobKind::kSendForward);
  left.die();
  left.poke(8, std::uint32_t{1});  // the version, behind the magic
  const std::size_t slots = left.laneAt(0) + 512;
  left.poke(slots + kBytesOfVersion1, std::int64_t{1} << 33 | 77);  // a compute job with bytes
  left.poke(slots + 64 + kBytesOfVersion1, std::int64_t{-1});
  const Timeline timeline = left.load();
  EXPECT_THAT(left.messages(), Not(testing::Contains(HasSubstr("cannot be read"))));
  ASSERT_NE(timeline.findTrack(0, "compute"), nullptr);
  EXPECT_THAT(timeline.findTrack(0, "compute")->events, SizeIs(2));
  EXPECT_THAT(profileOf(timeline), AllOf(HasSubstr(R"("bytes":4096)"), kHasNone));
}

}  // namespace
}  // namespace pipetrace
