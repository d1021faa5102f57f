// The part of a micro-batch and the version of the weights that a compute job names.
#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <string>

#include "profiler/cpu_stream.h"
#include "profiler/pipetrace.h"
#include "profiler/testing/recorder_fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const auto kHasNone = AllOf(Not(HasSubstr("part")), Not(HasSubstr("version")));

/// The jobs' lines, after `record` was called with a recorder and its streams 0 and 1, "compute"
/// and "send".
template <typename Record>
std::vector<std::string> recorded(const Record& record, const char* mark = kInfo) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  recorder.addStream("compute", std::make_unique<CpuStream>());
  recorder.addStream("send", std::make_unique<CpuStream>());
  record(recorder);
  recorder.close();
  return log.lines(mark);
}

TEST(PartAndVersionTest, EachJobHasThePartAndTheVersionThatTheProgramGave) {
  constexpr int kJobs = 100;  // the 33rd and the 97th are timed
  const auto lines = recorded([](Recorder& recorder) {
    for (int i = 0; i < kJobs; ++i) {
      recorder.begin(0, {.action = "1F2", .part = i, .version = 1'000'000 * i});
      recorder.end(0, 4096);  // a compute job has no bytes
    }
  });
  ASSERT_THAT(lines, SizeIs(kJobs));
  for (int i = 0; i < kJobs; ++i) {
    EXPECT_THAT(lines[static_cast<std::size_t>(i)],
                EndsWith("action = 1F2, part = " + std::to_string(i) +
                         ", version = " + std::to_string(1'000'000L * i)));
  }
}

TEST(PartAndVersionTest, OneOfTheTwoCanBeGiven) {
  const auto lines = recorded([](Recorder& recorder) {
    for (const Job& job : {Job{.part = 32'767}, Job{.version = 2'147'483'647}, Job{.version = 0}}) {
      recorder.begin(0, job);
      recorder.end(0);
    }
  });
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], AllOf(EndsWith(", part = 32767"), Not(HasSubstr("version"))));
  EXPECT_THAT(lines[1], AllOf(EndsWith(", version = 2147483647"), Not(HasSubstr("part"))));
  EXPECT_THAT(lines[2], AllOf(EndsWith(", version = 0"), Not(HasSubstr("part"))));
}

TEST(PartAndVersionTest, APartThatIsTooLargeIsLeftOutAndTheVersionKept) {
  const auto lines = recorded([](Recorder& recorder) {
    recorder.begin(0, {.part = 32'768, .version = 7});
    recorder.end(0);
  });
  EXPECT_THAT(lines, ElementsAre(AllOf(EndsWith(", version = 7"), Not(HasSubstr("part")))));
}

TEST(PartAndVersionTest, AJobWithoutThemHasNoSuchKeys) {
  const auto lines = recorded([](Recorder& recorder) {
    recorder.begin(0, {.action = "1F2"});
    recorder.end(0);
    recorder.begin(0, {.bytes = 1 << 20});
    recorder.end(0, 4096);
  });
  EXPECT_THAT(lines, AllOf(SizeIs(2), Each(kHasNone)));
}

TEST(PartAndVersionTest, ATransferKeepsItsBytesAndHasNoSuchKeys) {
  const auto lines = recorded(
      [](Recorder& recorder) {
        recorder.begin(1, {.kind = JobKind::kSendForward, .bytes = 77, .part = 3, .version = 5});
        recorder.end(1);
        recorder.begin(1, {.kind = JobKind::kSendForward, .part = 3, .version = 5});
        recorder.end(1, 88);
      },
      "Profiler Stream: ");
  EXPECT_THAT(lines,
              AllOf(ElementsAre(HasSubstr("bytes = 77"), HasSubstr("bytes = 88")), Each(kHasNone)));
}

/// The line of a forward job that `change` has changed, through the C header.
template <typename Change>
std::string recordedFromC(const Change& change) {
  RecordedLog log;
  pipetrace_options options;
  pipetrace_options_init(&options);
  options.enabled = PIPETRACE_ON;
  options.log_directory = log.folder().c_str();
  pipetrace_recorder* recorder = nullptr;
  EXPECT_EQ(pipetrace_open(&options, &recorder), 0) << pipetrace_error();
  EXPECT_EQ(pipetrace_add_stream(recorder, "compute"), 0);
  pipetrace_job job;
  pipetrace_job_init(&job, PIPETRACE_FORWARD);
  change(job);
  pipetrace_begin(recorder, 0, &job);
  pipetrace_end(recorder, 0);
  EXPECT_EQ(pipetrace_close(recorder), 0);
  const auto lines = log.lines(kInfo);
  EXPECT_THAT(lines, SizeIs(1));
  return lines.empty() ? "" : lines[0];
}

TEST(PartAndVersionTest, TheHeaderForCHasBoth) {
  EXPECT_THAT(recordedFromC([](pipetrace_job& job) {
                job.part = 3;
                job.version = 12;
              }),
              EndsWith(", part = 3, version = 12"));
  EXPECT_THAT(recordedFromC([](pipetrace_job&) {}), kHasNone);
}

TEST(PartAndVersionTest, AJobOfVersion01OfTheHeaderHasNone) {
  const std::string line = recordedFromC([](pipetrace_job& job) {
    std::memset(&job, 0x5a, sizeof(job));                  // the caller's bytes after its struct
    (pipetrace_job_init)(&job, PIPETRACE_BACKWARD_INPUT);  // as a program that loads it by name
    EXPECT_EQ(job.size, 56u);                              // by hand from the header of 0.1
  });
  EXPECT_THAT(line, AllOf(HasSubstr("type = backward_input"), kHasNone));
}

}  // namespace
}  // namespace pipetrace
