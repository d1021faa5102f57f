#include "parser/job_log_reader.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "parser/test_timelines.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

const std::string kGenuine =
    "I1020 09:15:07.265326 22317 standalone_executor.cc:217] Profiler Info: Job (3), type = "
    "forward, micro_batch_id = 2, job_start_time = 1697793307213.760986, job_end_time = "
    "1697793307254.006104\n"
    "I1020 09:15:07.265338 22317 standalone_executor.cc:217] Profiler Info: Job (4), type = "
    "forward, micro_batch_id = 3, job_start_time = 1697793307214.742920, job_end_time = "
    "1697793307219.168945\n";

struct Result {
  Timeline timeline;
  ReadOutcome outcome;
  std::vector<std::string> diagnostics;

  const std::vector<Event>& compute(int rank = 0) const {
    static const std::vector<Event> kNone;
    const Track* track = timeline.findTrack(rank, kComputeLane);
    return track == nullptr ? kNone : track->events;
  }
  std::string argument(const Event& event, std::string_view key) const {
    for (const Argument& a : timeline.argumentsOf(event)) {
      if (timeline.strings[a.key] != key) continue;
      if (a.type == ArgumentType::kText) return "'" + std::string(timeline.strings[a.text]) + "'";
      return a.type == ArgumentType::kInteger ? std::to_string(a.integer) : std::to_string(a.real);
    }
    return "none";
  }
};

Result read(const std::string& log, ReadRequest request = {}) {
  Result result;
  ByteSource source("log", log);
  Diagnostics diagnostics;
  result.outcome = JobLogReader().read(source, request, result.timeline, diagnostics);
  result.timeline.sort();
  for (const Diagnostic& d : diagnostics.list()) result.diagnostics.push_back(toText(d));
  return result;
}

std::string job(int begin, int end, const std::string& tail = "",
                const std::string& type = "forward") {
  return "Profiler Info: Job (0), type = " + type +
         ", micro_batch_id = 0, job_start_time = " + std::to_string(begin) +
         ".000000, job_end_time = " + std::to_string(end) + ".000000" + tail + "\n";
}

TEST(JobLogReaderTest, BothGenuineJobsSurviveAndLastWhatTheirDigitsSay) {
  const Result r = read(kGenuine);
  ASSERT_THAT(r.compute(), SizeIs(2));
  EXPECT_EQ(r.compute()[0].duration(), 40'245'118);
  EXPECT_EQ(r.compute()[1].duration(), 4'426'025);
  EXPECT_EQ(r.compute()[0].begin, 1697793307213760986);
  EXPECT_LT(r.compute()[1].begin, r.compute()[0].end);  // they overlap
  EXPECT_EQ(r.compute()[0].number, 3);
  EXPECT_EQ(r.compute()[0].microBatch, 2);
  EXPECT_EQ(r.compute()[1].number, 4);
  EXPECT_EQ(r.compute()[1].microBatch, 3);
  EXPECT_THAT(r.diagnostics, IsEmpty());  // a log of PaddlePaddle has no End line to miss
}

TEST(JobLogReaderTest, WhatTheLogWriterWritesIsReadBack) {
  const Timeline written = test::oneFOneB(3, 5, 2);
  Timeline timeline;
  Diagnostics diagnostics;
  for (int rank = 0; rank < 3; ++rank) {
    ByteSource source("log", test::logOf(written, rank));
    JobLogReader().read(source, {}, timeline, diagnostics);
  }
  timeline.sort();
  EXPECT_EQ(test::describe(timeline), test::describe(written));
  EXPECT_TRUE(diagnostics.empty());
}

TEST(JobLogReaderTest, OrdinaryOutputBetweenTheLinesDoesNotMatter) {
  const Result r = read("Profiler is on\nloss = 3, Profiler Info about nothing\n" + job(1, 2) +
                        "\xff\xfe\x00 noise\n" + "step 1: " + job(2, 3));
  EXPECT_THAT(r.compute(), SizeIs(2));
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(JobLogReaderTest, WindowsLineEndsAreTaken) {
  const Result r = read(
      "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1.000000, "
      "job_end_time = 2.000000, action = 0F1\r\n");
  ASSERT_THAT(r.compute(), SizeIs(1));
  EXPECT_EQ(r.argument(r.compute()[0], "action"), "'0F1'");
}

TEST(JobLogReaderTest, KeysAfterTheEndTimeFillTheFields) {
  const Result r = read(job(1, 2,
                            ", id = 41, step = 7, stage = 5, chunk = 1, stream = compute, "
                            "action = 5F0, part = 2, version = 3, peer = 4"));
  ASSERT_THAT(r.compute(), SizeIs(1));
  const Event& e = r.compute()[0];
  EXPECT_EQ(e.job, 41);
  EXPECT_EQ(e.step, 7);
  EXPECT_EQ(e.stage, 5);
  EXPECT_EQ(e.chunk, 1);
  EXPECT_EQ(e.part, 2);
  EXPECT_EQ(e.peer, 4);
  EXPECT_EQ(r.argument(e, "action"), "'5F0'");
  EXPECT_EQ(r.argument(e, "version"), "3");
  EXPECT_EQ(r.argument(e, "stream"), "none");
}

TEST(JobLogReaderTest, UnknownKeysAreKeptAsArgumentsOfTheirType) {
  const Result r = read(job(1, 2,
                            ", flops = 12, ratio = 0.5, tag = 1F2, zip = 007, long = "
                            "99999999999999999999, q = \"12\", text = \"a, b\""));
  const Event& e = r.compute().at(0);
  EXPECT_EQ(r.argument(e, "flops"), "12");
  EXPECT_EQ(r.argument(e, "ratio"), "0.500000");
  EXPECT_EQ(r.argument(e, "tag"), "'1F2'");
  EXPECT_EQ(r.argument(e, "zip"), "'007'");
  EXPECT_EQ(r.argument(e, "long"), "'99999999999999999999'");
  EXPECT_EQ(r.argument(e, "q"), "'12'");
  EXPECT_EQ(r.argument(e, "text"), "'a, b'");
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(JobLogReaderTest, PaddlePaddlesTypesNameKindChunkAndPart) {
  const Result r = read(job(1, 2, "", "backward_b1") + job(2, 3, "", "forward(chunk0)") +
                        job(3, 4, ", chunk = 2", "forward1") + job(4, 5, "", "前向"));
  ASSERT_THAT(r.compute(), SizeIs(4));
  EXPECT_EQ(r.compute()[0].kind, JobKind::kBackwardInput);
  EXPECT_EQ(r.compute()[0].chunk, 1);
  EXPECT_EQ(r.compute()[1].kind, JobKind::kForward);
  EXPECT_EQ(r.compute()[1].part, 0);
  EXPECT_EQ(r.compute()[2].chunk, 2);
  EXPECT_EQ(r.compute()[3].kind, JobKind::kOther);
  EXPECT_EQ(r.timeline.strings[r.compute()[3].name], "前向");
}

TEST(JobLogReaderTest, TransfersGoToTheLaneOfTheirStream) {
  const Result r = read(job(1, 2) +
                        "Profiler Stream: type = send_forward, micro_batch_id = 3, start_time = "
                        "1.000000, end_time = 2.000000, stream = nccl 7, peer = 2, bytes = 4096, "
                        "job = 17, step = 1, stage = 0, chunk = 0\n"
                        "Profiler Stream: type = recv_backward, start_time = 1.000000, end_time = "
                        "2.000000\n"
                        "Profiler Stream: type = all_reduce, start_time = 1.000000, end_time = "
                        "2.000000\n");
  const Track* sends = r.timeline.findTrack(0, "nccl 7");
  ASSERT_NE(sends, nullptr);
  const Event& e = sends->events.at(0);
  EXPECT_EQ(e.kind, JobKind::kSendForward);
  EXPECT_EQ(e.microBatch, 3);
  EXPECT_EQ(e.peer, 2);
  EXPECT_EQ(e.job, 17);
  EXPECT_EQ(r.argument(e, "bytes"), "4096");
  EXPECT_NE(r.timeline.findTrack(0, "recv"), nullptr);
  EXPECT_NE(r.timeline.findTrack(0, "all_reduce"), nullptr);
}

TEST(JobLogReaderTest, KernelsHaveALaneOfTheirOwn) {
  const Result r = read(job(1, 2) +
                        "Profiler Kernel: name = \"gemm<float, 4>\", start_time = 1.000000, "
                        "end_time = 2.000000, stream = 7, job = 3, grid = 128\n");
  const Track* kernels = r.timeline.findTrack(0, "kernels");
  ASSERT_NE(kernels, nullptr);
  const Event& e = kernels->events.at(0);
  EXPECT_EQ(e.kind, JobKind::kKernel);
  EXPECT_EQ(r.timeline.strings[e.name], "gemm<float, 4>");
  EXPECT_EQ(e.job, 3);
  EXPECT_EQ(r.argument(e, "stream"), "7");
  EXPECT_EQ(r.argument(e, "grid"), "128");
}

TEST(JobLogReaderTest, CountersAreSeriesWithTheirUnit) {
  const Result r = read(job(1, 2) +
                        "Profiler Counter: name = memory, time = 1.000000, value = 4096, unit = "
                        "bytes\nProfiler Counter: name = memory, time = 2.000000, value = nan\n"
                        "Profiler Counter: name = loss, time = 2.000000, value = -inf\n");
  ASSERT_THAT(r.timeline.counters, SizeIs(2));
  EXPECT_EQ(r.timeline.counters[0].name, "loss");
  EXPECT_EQ(r.timeline.counters[1].unit, "bytes");
  EXPECT_EQ(r.timeline.counters[1].samples.at(0).value, 4096);
  EXPECT_TRUE(std::isnan(r.timeline.counters[1].samples.at(1).value));
}

TEST(JobLogReaderTest, TheLastRunIsReadUnlessAnotherIsAskedFor) {
  const std::string log = "Profiler Meta: version = 1, rank = 0, schedule = A\n" + job(1, 2) +
                          "Profiler End: written = 1\nProfiler Meta: version = 1, rank = 0, "
                          "schedule = B\n" +
                          job(10, 11) + job(11, 12) + "Profiler End: written = 2\n";
  const Result last = read(log);
  EXPECT_THAT(last.compute(), SizeIs(2));
  EXPECT_EQ(last.timeline.ranks.at(0).schedule, "B");
  const Result first = read(log, {.run = 0});
  EXPECT_THAT(first.compute(), SizeIs(1));
  EXPECT_EQ(first.timeline.ranks.at(0).schedule, "A");
  EXPECT_THAT(read(log, {.run = 1}).compute(), SizeIs(2));
  EXPECT_THAT(([&] { read(log, {.run = 2}); }),
              ThrowsMessage<Error>(HasSubstr("log holds 2 runs, so --run 2 is not there")));
}

TEST(JobLogReaderTest, JobsBeforeTheFirstMetaLineAreARunOfTheirOwn) {
  const std::string log = job(1, 2) + "Profiler Meta: rank = 0\n" + job(2, 3) + job(3, 4) +
                          "Profiler End: written = 2\n";
  EXPECT_THAT(read(log).compute(), SizeIs(2));
  EXPECT_THAT(read(log, {.run = 0}).compute(), SizeIs(1));
}

TEST(JobLogReaderTest, FindingsOfRunsThatAreNotReadAreNotTold) {
  const Result r = read("Profiler Meta: rank = 0\n" + job(5, 2) + "Profiler Meta: rank = 0\n" +
                        job(2, 3) + "Profiler End: written = 1\n");
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(JobLogReaderTest, MetaClockAndEndLinesFillWhatIsKnownOfTheRank) {
  const Result r = read(
      "Profiler Meta: version = 1, rank = 3, world_size = 8, host = \"node a\", device = cuda:3, "
      "num_stages = 8, num_chunks = 2, num_micro_batches = 16, schedule = 1F1B, "
      "data_parallel_index = 1, clock = realtime, flops_per_step = 1.5e18, tokens_per_step = "
      "4096, later_key = 1\n"
      "Profiler Clock: time = 5.000000, offset_ns = -17, bound_ns = 3\n" +
      job(1, 2) +
      "Profiler End: written = 1, dropped = 0, errors = 0, late_starts = 4, own_cost_ns = 99\n");
  const RankInfo& info = r.timeline.ranks.at(3);
  EXPECT_EQ(info.rank, 3);
  EXPECT_EQ(info.worldSize, 8);
  EXPECT_EQ(info.host, "node a");
  EXPECT_EQ(info.device, "cuda:3");
  EXPECT_EQ(info.numStages, 8);
  EXPECT_EQ(info.numChunks, 2);
  EXPECT_EQ(info.numMicroBatches, 16);
  EXPECT_EQ(info.schedule, "1F1B");
  EXPECT_EQ(info.dataParallelIndex, 1);
  EXPECT_EQ(info.clock, "realtime");
  EXPECT_EQ(info.flopsPerStep, 1.5e18);
  EXPECT_EQ(info.tokensPerStep, 4096);
  ASSERT_THAT(info.clockReadings, SizeIs(1));
  EXPECT_EQ(info.clockReadings[0].when, 5'000'000);
  EXPECT_EQ(info.clockReadings[0].offset, -17);
  EXPECT_EQ(info.clockReadings[0].bound, 3);
  EXPECT_TRUE(info.hasEnd);
  EXPECT_EQ(info.lateStarts, 4);
  EXPECT_EQ(info.ownCost, 99);
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(JobLogReaderTest, TheRankIsMetasElseTheNamesElseTheNextFreeOne) {
  const std::string meta = "Profiler Meta: rank = 2\n";
  const std::string end = "Profiler End: written = 1\n";
  EXPECT_THAT(read(job(1, 2), {.rank = 5, .nextRank = 9}).compute(5), SizeIs(1));
  EXPECT_THAT(read(job(1, 2), {.nextRank = 9}).compute(9), SizeIs(1));
  EXPECT_THAT(read(meta + job(1, 2) + end, {.rank = 2}).diagnostics, IsEmpty());
  const Result other = read(meta + job(1, 2) + end, {.rank = 5});
  EXPECT_THAT(other.compute(2), SizeIs(1));
  EXPECT_THAT(other.diagnostics, ElementsAre(HasSubstr("another rank than the file name")));
}

TEST(JobLogReaderTest, ASecondLogOfARankIsTold) {
  Timeline timeline;
  Diagnostics diagnostics;
  for (const char* name : {"a", "b"}) {
    ByteSource source(name, job(1, 2));
    JobLogReader().read(source, {.rank = 1}, timeline, diagnostics);
  }
  ASSERT_THAT(diagnostics.list(), SizeIs(1));
  EXPECT_THAT(toText(diagnostics.list()[0]), HasSubstr("b: warning: its rank was read"));
  EXPECT_EQ(timeline.eventCount(), 2U);
}

TEST(JobLogReaderTest, TruncatedLastLineIsIgnored) {
  const std::string log = job(1, 2) + job(2, 3);
  const Result r = read(log.substr(0, log.size() - 1));  // only its line end is missing
  EXPECT_THAT(r.compute(), SizeIs(1));
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("log:2: warning: the last line is cut off")));
}

TEST(JobLogReaderTest, ALogWithMetaAndWithoutEndWasCutOff) {
  const Result r = read("Profiler Meta: rank = 0\n" + job(1, 2));
  EXPECT_THAT(r.compute(), SizeIs(1));
  EXPECT_FALSE(r.timeline.ranks.at(0).hasEnd);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("no Profiler End line")));
}

TEST(JobLogReaderTest, WhatWentWrongWhileRecordingIsTold) {
  const Result r = read(job(1, 2) + "Profiler End: written = 1, dropped = 12, errors = 3\n");
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("jobs were dropped while recording (12 times)"),
                                         HasSubstr("errors occurred while recording (3 times)")));
}

TEST(JobLogReaderTest, BadLinesCostThemselvesAndAreCountedAtTheFirst) {
  using namespace std::string_literals;
  struct Case {
    std::string bad;
    const char* message;
  };
  const std::string over = "9999999999999";
  const Case cases[] = {
      {job(5, 2), "a job ends before it starts and was left out"},
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
    const Result r = read("first\n" + c.bad + job(7, 8) + c.bad + job(8, 9));
    EXPECT_THAT(r.compute(), SizeIs(2)) << c.message;
    EXPECT_THAT(r.diagnostics, ElementsAre(AllOf(HasSubstr("log:2: "), HasSubstr(c.message),
                                                 HasSubstr("(2 times)"))))
        << c.bad.substr(0, 200);
  }
}

TEST(JobLogReaderTest, BadPartsOfALineCostThemselves) {
  using namespace std::string_literals;
  struct Case {
    std::string line;
    const char* message;
  };
  const Case cases[] = {
      {job(1, 2, ", nonsense, step = 7"), "no `key = value`"},
      {job(1, 2, ", step = 7, a = \"open"), "no `key = value`"},
      {job(1, 2, ", chunk = 99999, step = 7"), "does not fit its key"},
      {job(1, 2, ", id = x, step = 7"), "does not fit its key"},
      {job(1, 2, ", tag = \"\xff\", step = 7"), "no UTF-8"},
  };
  for (const Case& c : cases) {
    const Result r = read(c.line);
    ASSERT_THAT(r.compute(), SizeIs(1)) << c.line;
    EXPECT_EQ(r.compute()[0].step, 7);
    EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr(c.message))) << c.line;
  }
}

TEST(JobLogReaderTest, BytesThatAreNoUtf8AreReplaced) {
  const Result r = read(job(1, 2, ", tag = \"a\xff\""));
  EXPECT_EQ(r.argument(r.compute().at(0), "tag"), "'a\ufffd'");
}

TEST(JobLogReaderTest, ANewerFormatIsReadAndTold) {
  const Result r =
      read("Profiler Meta: version = 99, rank = 0\n" + job(1, 2) + "Profiler End: written = 1\n");
  EXPECT_THAT(r.compute(), SizeIs(1));
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("newer format")));
}

TEST(JobLogReaderTest, NothingFoundSaysWhatWasThere) {
  EXPECT_EQ(read("").outcome.whyNone, "it is empty");
  EXPECT_EQ(read("hello\n").outcome.whyNone, "it holds 1 line, none with \"Profiler Info:\"");
  EXPECT_EQ(read("a\nb\nc\n").outcome.whyNone, "it holds 3 lines, none with \"Profiler Info:\"");
  EXPECT_EQ(read("Profiler Info: x\nProfiler Info: y\n").outcome.whyNone,
            "it holds 2 lines with \"Profiler Info:\", but none that could be read");
  const std::string one = job(1, 2);
  EXPECT_EQ(read(one.substr(0, one.size() - 3)).outcome.whyNone,
            "its only line with \"Profiler Info:\" is cut off");
}

/// The jobs of a timeline, one text each.
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

TEST(JobLogReaderTest, CutAtAnyByteTheLogGivesOnlyJobsOfTheWholeLog) {
  const std::string log = test::logOf(test::oneFOneB(2, 3, 1), 0);
  const auto whole = jobsOf(read(log).timeline);
  std::size_t most = 0;
  for (std::size_t size = 0; size < log.size(); ++size) {
    const Result r = read(log.substr(0, size));
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

TEST(JobLogReaderTest, ProbingTellsALogFromWhatOnlyMightBeOne) {
  const JobLogReader reader;
  EXPECT_EQ(reader.probe(kGenuine), FormatMatch::kCertain);
  EXPECT_EQ(reader.probe("noise\nProfiler Meta: rank = 0\n"), FormatMatch::kCertain);
  EXPECT_EQ(reader.probe("hello\nworld\n"), FormatMatch::kPossible);
  EXPECT_EQ(reader.probe(""), FormatMatch::kPossible);
}

}  // namespace
}  // namespace pipetrace
