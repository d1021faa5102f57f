#include <gmock/gmock.h>

#include <set>

#include "parser/testing/log.h"
#include "parser/testing/timelines.h"

namespace pipetrace {
namespace {

using test::jobLine;
using test::LogResult;
using test::readLog;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(DamagedJobLogTest, TruncatedLastLineIsIgnored) {
  const std::string log = jobLine(1, 2) + jobLine(2, 3);
  const LogResult r = readLog(log.substr(0, log.size() - 1));  // only its line end is missing
  EXPECT_THAT(r.compute(), SizeIs(1));
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("log:2: warning: the last line is cut off")));
}

TEST(DamagedJobLogTest, ALogWithMetaAndWithoutEndIsReportedAsCutOff) {
  const LogResult r = readLog("Profiler Meta: rank = 0\n" + jobLine(1, 2));
  EXPECT_THAT(r.compute(), SizeIs(1));
  EXPECT_FALSE(r.timeline.ranks.at(0).hasEnd);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("no Profiler End line")));
}

TEST(DamagedJobLogTest, ProblemsWhileRecordingAreReported) {
  const LogResult r =
      readLog(jobLine(1, 2) + "Profiler End: written = 1, dropped = 12, errors = 3\n");
  EXPECT_THAT(r.diagnostics,
              ElementsAre(AllOf(HasSubstr("records were dropped while recording (12 times)"),
                                HasSubstr("ringSlots"), HasSubstr("ring_slots"), HasSubstr("4096")),
                          AllOf(HasSubstr("errors occurred while recording (3 times)"),
                                HasSubstr("begin on a stream"), HasSubstr("disk full"))));
}

TEST(DamagedJobLogTest, ErrorsWhileRecordingAreReportedByTheirCauses) {
  const LogResult r = readLog(jobLine(1, 2) +
                              "Profiler End: written = 1, errors = 5, misuses = 3, failed_writes = "
                              "2\n");
  EXPECT_EQ(r.timeline.ranks.at(0).misuses, 3);
  EXPECT_EQ(r.timeline.ranks.at(0).failedWrites, 2);
  EXPECT_THAT(r.diagnostics,
              ElementsAre(AllOf(HasSubstr("out of place and recorded nothing (3 times)"),
                                HasSubstr("end without begin, a job still open at close")),
                          AllOf(HasSubstr("writes to the log failed while recording (2 times)"),
                                HasSubstr("was the disk full"))));
}

TEST(DamagedJobLogTest, LinesThatTheEndCountsAndThatAreMissingAreReported) {
  const std::string sample = "Profiler Counter: name = loss, time = 1.000000, value = nan\n";
  const std::string send =
      "Profiler Stream: type = copy, start_time = 1.000000, end_time = "
      "2.000000, stream = nccl\n";
  const std::string ofNccl =
      "Profiler Stream: type = all_reduce, start_time = 1.000000, end_time "
      "= 2.000000, stream = nccl, communicator = 1f\n";
  const std::string kernel =
      "Profiler Kernel: name = gemm, start_time = 1.000000, end_time = 2.000000\n";
  const auto reported = [&](const std::string& lines, int written) {
    return readLog("Profiler Meta: rank = 0\n" + lines +
                   "Profiler End: written = " + std::to_string(written) + "\n")
        .diagnostics;
  };
  const std::string whole = jobLine(1, 2) + jobLine(2, 3) + sample + send;
  EXPECT_THAT(reported(whole, 4), IsEmpty());
  EXPECT_THAT(reported(whole, 7), ElementsAre(HasSubstr("counts as written (3 times)")));
  // These lines were written by others, and the recorder did not count them.
  EXPECT_THAT(reported(whole + ofNccl + kernel, 4), IsEmpty());
  EXPECT_THAT(reported(jobLine(1, 2) + ofNccl + kernel, 3),
              ElementsAre(HasSubstr("counts as written (2 times)")));
  // Lines that are there and cannot be read are reported as such.
  EXPECT_THAT(reported(jobLine(1, 2) + jobLine(5, 2), 2), ElementsAre(HasSubstr("ends before")));
}

TEST(DamagedJobLogTest, BadLinesAreLeftOutAndCountedAtTheFirst) {
  using namespace std::string_literals;
  struct Case {
    std::string bad;
    const char* message;
  };
  const std::string over = "9999999999999";
  const Case cases[] = {
      {jobLine(5, 2), "a job ends before it starts and was left out"},
      {"Profiler Info: Job (0), type = for\n", "could not be understood"},
      {"Profiler Stream: type = copy, start_time = 1.000000\n", "could not be understood"},
      {"Profiler Counter: name = a, time = 1.000000\n", "could not be understood"},
      {"Profiler Clock: time = 1.000000\n", "could not be understood"},
      {"Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = " + over +
           ".000000, job_end_time = " + over + ".000000\n",
       "a number is too large"},
      {"Profiler Info: Job (4294967296), type = forward, micro_batch_id = 0, job_start_time = "
       "1.000000, job_end_time = 2.000000\n",
       "a number is too large"},
      {"Profiler Info: Job (1), type = for\0ard, micro_batch_id = 0, job_start_time = 1.000000, job_end_time = 2.000000\n"s,
       "holds NUL bytes"},
      {"Profiler Info: " + std::string(2 << 20, 'x') + "\n", "a line longer than 1 MiB"},
  };
  for (const Case& c : cases) {
    const LogResult r = readLog("first\n" + c.bad + jobLine(7, 8) + c.bad + jobLine(8, 9));
    EXPECT_THAT(r.compute(), SizeIs(2)) << c.message;
    EXPECT_THAT(r.diagnostics, ElementsAre(AllOf(HasSubstr("log:2: "), HasSubstr(c.message),
                                                 HasSubstr("(2 times)"))))
        << c.bad.substr(0, 200);
  }
}

TEST(DamagedJobLogTest, BadPartsOfALineAreLeftOutAlone) {
  using namespace std::string_literals;
  struct Case {
    std::string line;
    const char* message;
  };
  const Case cases[] = {
      {jobLine(1, 2, ", nonsense, step = 7"), "no `key = value`"},
      {jobLine(1, 2, ", step = 7, a = \"open"), "no `key = value`"},
      {jobLine(1, 2, ", chunk = 99999, step = 7"), "does not fit its key"},
      {jobLine(1, 2, ", id = x, step = 7"), "does not fit its key"},
      {jobLine(1, 2, ", tag = \"\xff\", step = 7"), "no UTF-8"},
  };
  for (const Case& c : cases) {
    const LogResult r = readLog(c.line);
    ASSERT_THAT(r.compute(), SizeIs(1)) << c.line;
    EXPECT_EQ(r.compute()[0].step, 7);
    EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr(c.message))) << c.line;
  }
}

TEST(DamagedJobLogTest, BytesThatAreNoUtf8AreReplaced) {
  const LogResult r = readLog(jobLine(1, 2, ", tag = \"a\xff\""));
  EXPECT_EQ(r.argument(r.compute().at(0), "tag"), "'a\ufffd'");
}

TEST(DamagedJobLogTest, ANewerFormatIsReadAndReported) {
  const LogResult r = readLog("Profiler Meta: version = 99, rank = 0\n" + jobLine(1, 2) +
                              "Profiler End: written = 1\n");
  EXPECT_THAT(r.compute(), SizeIs(1));
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("newer format")));
}

TEST(DamagedJobLogTest, AnInputWithoutJobsIsDescribed) {
  EXPECT_EQ(readLog("").outcome.whyNone, "it is empty");
  EXPECT_EQ(readLog("hello\n").outcome.whyNone, "it holds 1 line, none with \"Profiler Info:\"");
  EXPECT_EQ(readLog("a\nb\nc\n").outcome.whyNone, "it holds 3 lines, none with \"Profiler Info:\"");
  EXPECT_EQ(readLog("Profiler Info: x\nProfiler Info: y\n").outcome.whyNone,
            "it holds 2 lines with \"Profiler Info:\", but none that could be read");
  const std::string one = jobLine(1, 2);
  EXPECT_EQ(readLog(one.substr(0, one.size() - 3)).outcome.whyNone,
            "its only line with \"Profiler Info:\" is cut off");
}

/// The jobs of a timeline, one text per job.
std::multiset<std::string> jobsOf(const Timeline& timeline) {
  std::multiset<std::string> jobs;
  std::string text = test::describe(timeline);
  std::string track;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    const std::string line = text.substr(from, end - from);
    from = end + 1;
    if (line.starts_with("track")) track = line;
    if (line.starts_with("  ")) jobs.insert(track + line);
  }
  return jobs;
}

TEST(DamagedJobLogTest, ALogCutAtAnyByteGivesOnlyJobsOfTheWholeLog) {
  const std::string log = test::logOf(test::oneFOneB(2, 3, 1), 0);
  const auto whole = jobsOf(readLog(log).timeline);
  std::size_t most = 0;
  for (std::size_t size = 0; size < log.size(); ++size) {
    const LogResult r = readLog(log.substr(0, size));
    const auto jobs = jobsOf(r.timeline);
    for (const std::string& one : jobs) ASSERT_TRUE(whole.contains(one)) << size << one;
    ASSERT_GE(jobs.size(), most) << size;  // more text never means fewer jobs
    most = jobs.size();
    if (!jobs.empty() && size + 20 < log.size()) {
      ASSERT_THAT(r.diagnostics, Not(IsEmpty())) << size;
    }
  }
  EXPECT_EQ(most, whole.size());
}

}  // namespace
}  // namespace pipetrace
