#include "parser/job_log/job_log_reader.h"

#include <gmock/gmock.h>

#include <cmath>

#include "parser/testing/log.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::jobLine;
using test::LogResult;
using test::readLog;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

const std::string kGenuine =
    "I1020 09:15:07.265326 22317 standalone_executor.cc:217] Profiler Info: Job (3), type = "
    "forward, micro_batch_id = 2, job_start_time = 1697793307213.760986, job_end_time = "
    "1697793307254.006104\n"
    "I1020 09:15:07.265338 22317 standalone_executor.cc:217] Profiler Info: Job (4), type = "
    "forward, micro_batch_id = 3, job_start_time = 1697793307214.742920, job_end_time = "
    "1697793307219.168945\n";

TEST(JobLogReaderTest, BothGenuineJobsAreReadWithTheirExactTimes) {
  const LogResult r = readLog(kGenuine);
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

TEST(JobLogReaderTest, LinesOfTheLogWriterAreReadBack) {
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
  const LogResult r = readLog("Profiler is on\nloss = 3, Profiler Info about nothing\n" +
                              jobLine(1, 2) + "\xff\xfe\x00 noise\n" + "step 1: " + jobLine(2, 3));
  EXPECT_THAT(r.compute(), SizeIs(2));
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(JobLogReaderTest, WindowsLineEndsAreTaken) {
  const LogResult r = readLog(
      "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1.000000, "
      "job_end_time = 2.000000, action = 0F1\r\n");
  ASSERT_THAT(r.compute(), SizeIs(1));
  EXPECT_EQ(r.argument(r.compute()[0], "action"), "'0F1'");
}

TEST(JobLogReaderTest, KeysAfterTheEndTimeFillTheFields) {
  const LogResult r =
      readLog(jobLine(1, 2,
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
  const LogResult r = readLog(jobLine(1, 2,
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
  const LogResult r =
      readLog(jobLine(1, 2, "", "backward_b1") + jobLine(2, 3, "", "forward(chunk0)") +
              jobLine(3, 4, ", chunk = 2", "forward1") + jobLine(4, 5, "", "前向"));
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
  const LogResult r =
      readLog(jobLine(1, 2) +
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
  const LogResult r = readLog(jobLine(1, 2) +
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
  const LogResult r =
      readLog(jobLine(1, 2) +
              "Profiler Counter: name = memory, time = 1.000000, value = 4096, unit = "
              "bytes\nProfiler Counter: name = memory, time = 2.000000, value = nan\n"
              "Profiler Counter: name = loss, time = 2.000000, value = -inf\n");
  ASSERT_THAT(r.timeline.counters, SizeIs(2));
  EXPECT_EQ(r.timeline.counters[0].name, "loss");
  EXPECT_EQ(r.timeline.counters[1].unit, "bytes");
  EXPECT_EQ(r.timeline.counters[1].samples.at(0).value, 4096);
  EXPECT_TRUE(std::isnan(r.timeline.counters[1].samples.at(1).value));
}

TEST(JobLogReaderTest, TheLastRunIsReadUnlessAnotherIsRequested) {
  const std::string log = "Profiler Meta: version = 1, rank = 0, schedule = A\n" + jobLine(1, 2) +
                          "Profiler End: written = 1\nProfiler Meta: version = 1, rank = 0, "
                          "schedule = B\n" +
                          jobLine(10, 11) + jobLine(11, 12) + "Profiler End: written = 2\n";
  const LogResult last = readLog(log);
  EXPECT_THAT(last.compute(), SizeIs(2));
  EXPECT_EQ(last.timeline.ranks.at(0).schedule, "B");
  EXPECT_EQ(last.timeline.ranks.at(0).runs, 2);
  EXPECT_THAT(last.diagnostics,
              ElementsAre(AllOf(HasSubstr("note: it holds 2 runs, of which the last is read"),
                                HasSubstr("--run 0"))));
  const LogResult first = readLog(log, {.run = 0});
  EXPECT_THAT(first.compute(), SizeIs(1));
  EXPECT_EQ(first.timeline.ranks.at(0).schedule, "A");
  EXPECT_THAT(first.diagnostics, IsEmpty());
  EXPECT_THAT(readLog(log, {.run = 1}).compute(), SizeIs(2));
  EXPECT_THAT(([&] { readLog(log, {.run = 2}); }),
              ThrowsMessage<Error>(HasSubstr("log holds 2 runs, so --run 2 is not there")));
}

TEST(JobLogReaderTest, JobsBeforeTheFirstMetaLineAreARunOfTheirOwn) {
  const std::string log = jobLine(1, 2) + "Profiler Meta: rank = 0\n" + jobLine(2, 3) +
                          jobLine(3, 4) + "Profiler End: written = 2\n";
  EXPECT_THAT(readLog(log).compute(), SizeIs(2));
  EXPECT_THAT(readLog(log, {.run = 0}).compute(), SizeIs(1));
}

TEST(JobLogReaderTest, FindingsOfRunsThatAreNotReadAreNotReported) {
  const LogResult r =
      readLog("Profiler Meta: rank = 0\n" + jobLine(5, 2) + "Profiler Meta: rank = 0\n" +
              jobLine(2, 3) + "Profiler End: written = 1\n");
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("it holds 2 runs")));
}

TEST(JobLogReaderTest, MetaClockAndEndLinesFillTheInfoOfTheRank) {
  const LogResult r = readLog(
      "Profiler Meta: version = 1, rank = 3, world_size = 8, host = \"node a\", device = cuda:3, "
      "num_stages = 8, num_chunks = 2, num_micro_batches = 16, schedule = 1F1B, "
      "data_parallel_index = 1, tensor_parallel_index = 2, clock = realtime, flops_per_step = "
      "1.5e18, tokens_per_step = "
      "4096, later_key = 1\n"
      "Profiler Clock: time = 5.000000, offset_ns = -17, bound_ns = 3\n" +
      jobLine(1, 2) +
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
  EXPECT_EQ(info.tensorParallelIndex, 2);
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

TEST(JobLogReaderTest, TheFirstStepIsThatOfPaddlePaddlesLine) {
  const auto firstStep = [](const std::string& log) {
    return readLog(log + jobLine(1, 2)).timeline.ranks.at(0).firstStep;
  };
  EXPECT_EQ(firstStep("I0101 engine.py:9] Schedule Profiler start at step 7 and end at step 9.\n"
                      "Schedule Profiler start at step 20 and end at step 21\n"),
            7);
  EXPECT_EQ(firstStep("Profiler start at step 7\n"), std::nullopt);
  EXPECT_EQ(firstStep("Profiler start at step -7 and end at step 9\n"), std::nullopt);
  EXPECT_EQ(firstStep("Profiler start at step 9999999999 and end at step 9\n"), std::nullopt);
}

TEST(JobLogReaderTest, TheRankIsThatOfMetaElseOfTheNameElseTheNextFreeOne) {
  const std::string meta = "Profiler Meta: rank = 2\n";
  const std::string end = "Profiler End: written = 1\n";
  EXPECT_THAT(readLog(jobLine(1, 2), {.rank = 5, .nextRank = 9}).compute(5), SizeIs(1));
  EXPECT_THAT(readLog(jobLine(1, 2), {.nextRank = 9}).compute(9), SizeIs(1));
  EXPECT_THAT(readLog(meta + jobLine(1, 2) + end, {.rank = 2}).diagnostics, IsEmpty());
  const LogResult other = readLog(meta + jobLine(1, 2) + end, {.rank = 5});
  EXPECT_THAT(other.compute(2), SizeIs(1));
  EXPECT_THAT(other.diagnostics, ElementsAre(HasSubstr("another rank than the file name")));
}

TEST(JobLogReaderTest, AnInvalidRankInAMetaLineIsReported) {
  for (const char* rank : {"-1", "2147483647", "99999999999", "x"}) {
    const LogResult r = readLog("Profiler Meta: rank = " + std::string(rank) + "\n" +
                                    jobLine(1, 2) + "Profiler End: written = 1\n",
                                {.rank = 5});
    EXPECT_THAT(r.compute(5), SizeIs(1)) << rank;
    EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("does not fit its key"))) << rank;
  }
}

/// A log of one job.
std::string logOfRank(int rank, int begin) {
  return "Profiler Meta: rank = " + std::to_string(rank) + "\n" + jobLine(begin, begin + 1) +
         "Profiler End: written = 1\n";
}

TEST(JobLogReaderTest, LogsOfSeveralRanksInOneInputAreSeparated) {
  const std::string all =
      logOfRank(0, 10) + logOfRank(0, 20) + logOfRank(1, 30) + logOfRank(2, 40) + logOfRank(2, 50);
  const LogResult r = readLog(all);
  EXPECT_THAT(r.timeline.ranks, SizeIs(3));
  ASSERT_THAT(r.compute(0), SizeIs(1));
  EXPECT_EQ(r.compute(0)[0].begin, 20'000'000);
  EXPECT_THAT(r.compute(1), SizeIs(1));
  ASSERT_THAT(r.compute(2), SizeIs(1));
  EXPECT_EQ(r.compute(2)[0].begin, 50'000'000);
  EXPECT_EQ(r.outcome.events, 3);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("it holds 2 runs of rank 0"),
                                         HasSubstr("it holds 2 runs of rank 2")));

  EXPECT_EQ(readLog(all, {.run = 0}).compute(2).at(0).begin, 40'000'000);
  EXPECT_THAT(([&] { readLog(all, {.run = 1}); }),
              ThrowsMessage<Error>(HasSubstr("log holds 1 run of rank 1, so --run 1")));
}

TEST(JobLogReaderTest, RunsOfAlternatingRanksAreCountedPerRank) {
  const LogResult r =
      readLog(logOfRank(0, 10) + logOfRank(1, 20) + logOfRank(0, 30) + logOfRank(1, 40));
  EXPECT_EQ(r.compute(0).at(0).begin, 30'000'000);
  EXPECT_EQ(r.compute(1).at(0).begin, 40'000'000);
  EXPECT_EQ(r.timeline.eventCount(), 2U);
}

TEST(JobLogReaderTest, ARankWithoutAJobAmongSeveralIsReported) {
  const LogResult r =
      readLog("Profiler Meta: rank = 0\nProfiler End: written = 0\n" + logOfRank(1, 1));
  EXPECT_THAT(r.timeline.ranks, SizeIs(1));
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("no job of rank 0 in it")));
}

TEST(JobLogReaderTest, AFileNamedAfterARankHoldsThatRankAndReportsOthers) {
  const LogResult r = readLog(logOfRank(0, 10) + logOfRank(3, 20), {.rank = 3});
  EXPECT_THAT(r.timeline.ranks, SizeIs(1));
  ASSERT_THAT(r.compute(3), SizeIs(1));
  EXPECT_EQ(r.compute(3)[0].begin, 20'000'000);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("its runs are of different ranks"),
                                         HasSubstr("it holds 2 runs")));
}

TEST(JobLogReaderTest, ASecondLogOfARankIsReported) {
  Timeline timeline;
  Diagnostics diagnostics;
  for (const char* name : {"a", "b"}) {
    ByteSource source(name, jobLine(1, 2));
    JobLogReader().read(source, {.rank = 1}, timeline, diagnostics);
  }
  ASSERT_THAT(diagnostics.list(), SizeIs(1));
  EXPECT_THAT(toText(diagnostics.list()[0]), HasSubstr("b: warning: its rank was read"));
  EXPECT_EQ(timeline.eventCount(), 2U);
}

TEST(JobLogReaderTest, ProbingDistinguishesLogsFromTextsThatMightBeLogs) {
  const JobLogReader reader;
  EXPECT_EQ(reader.probe(kGenuine), FormatMatch::kCertain);
  EXPECT_EQ(reader.probe("noise\nProfiler Meta: rank = 0\n"), FormatMatch::kCertain);
  EXPECT_EQ(reader.probe("hello\nworld\n"), FormatMatch::kPossible);
  EXPECT_EQ(reader.probe(""), FormatMatch::kPossible);
}

}  // namespace
}  // namespace pipetrace
