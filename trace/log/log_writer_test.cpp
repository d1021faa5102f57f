#include "trace/log/log_writer.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

namespace pipetrace {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr Nanoseconds kBegin = 1697793307213760986;

template <typename Line>
std::string written(const Line& line) {
  LogWriter writer(22317);
  writer.setNow(1697793307265326000);
  std::string out;
  writer.append(out, line);
  return out;
}

TEST(LogWriterTest, AJobIsPaddlePaddlesLineAndThenOurKeys) {
  JobLine line;
  line.type = "forward";
  line.number = line.microBatch = 2;
  line.begin = kBegin;
  line.end = kBegin + 40245118;
  line.id = 41;
  line.step = 7;
  line.stage = 1;
  line.chunk = 0;
  line.stream = "compute";
  line.action = "1F2";
  EXPECT_THAT(written(line),
              EndsWith("] Profiler Info: Job (2), type = forward, micro_batch_id = 2, "
                       "job_start_time = 1697793307213.760986, "
                       "job_end_time = 1697793307254.006104, id = 41, step = 7, stage = 1, "
                       "chunk = 0, stream = compute, action = 1F2\n"));
}

TEST(LogWriterTest, ThePrefixIsGlogs) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_THAT(
      written(JobLine{.type = "lr"}),
      MatchesRegex("I1020 09:15:07\\.265326 22317 log_writer\\.cpp:[0-9]+\\] Profiler .*\n"));
}

TEST(LogWriterTest, FieldsThatAreNotGivenAreLeftOut) {
  const std::string line = written(JobLine{.type = "lr"});
  for (const char* key :
       {" id =", "step", "stage", "chunk", "stream", "action", "part", "version"}) {
    EXPECT_THAT(line, testing::Not(HasSubstr(key)));
  }
}

TEST(LogWriterTest, ATransferNamesItsPeerBytesAndJob) {
  StreamLine line;
  line.type = "send_forward";
  line.microBatch = 3;
  line.begin = kBegin;
  line.end = kBegin + 1;
  line.stream = "send";
  line.peer = 2;
  line.bytes = 4096;
  line.job = 17;
  EXPECT_THAT(written(line),
              EndsWith("] Profiler Stream: type = send_forward, micro_batch_id = 3, "
                       "start_time = 1697793307213.760986, end_time = 1697793307213.760987, "
                       "stream = send, peer = 2, bytes = 4096, job = 17\n"));
}

TEST(LogWriterTest, TextsOfAnyLengthAreWrittenWhole) {
  for (const std::size_t size : {1, 63, 64, 65, 400, 500, 511, 512, 513, 5000}) {
    for (const char* const end : {"", " ;"}) {  // bare, and to be quoted
      JobLine line{.type = "forward", .stream = "compute"};
      const std::string action = std::string(size, 'x') + end;
      line.action = action;
      line.details.part = 3;
      const std::string quote = *end == '\0' ? "" : "\"";
      EXPECT_THAT(written(line), EndsWith(", stream = compute, action = " + quote + action + quote +
                                          ", part = 3\n"));
    }
  }
}

TEST(LogWriterTest, ValuesThatCouldBeMisreadAreJsonStrings) {
  const auto value = [](std::string_view text) {
    std::string out;
    appendLogValue(out, text);
    return out;
  };
  EXPECT_EQ(value("1F1B"), "1F1B");
  EXPECT_EQ(value("cpu:0/a+b-c.d_e"), "cpu:0/a+b-c.d_e");
  EXPECT_EQ(value(""), "\"\"");
  EXPECT_EQ(value("(0F7;7B3)OVERLAP_F_B"), "\"(0F7;7B3)OVERLAP_F_B\"");
  EXPECT_EQ(value("a, b = \"c\"\\\n\x01"), "\"a, b = \\\"c\\\"\\\\\\n\\u0001\"");
  EXPECT_EQ(value("前向"), "\"前向\"");
}

TEST(LogWriterTest, MetaHoldsTheTopology) {
  RankInfo info;
  info.rank = 1;
  info.worldSize = 4;
  info.numStages = 4;
  info.schedule = "1F1B";
  info.host = "node a";
  LogWriter writer;
  std::string out;
  writer.appendMeta(out, info);
  EXPECT_THAT(out, EndsWith("] Profiler Meta: version = 1, rank = 1, world_size = 4, "
                            "host = \"node a\", num_stages = 4, schedule = 1F1B\n"));
}

TEST(LogWriterTest, EndSaysWhatWasWrittenAndLost) {
  RankInfo info;
  info.written = 12;
  info.dropped = 3;
  info.ownCost = 4567;
  LogWriter writer;
  std::string out;
  writer.appendEnd(out, info);
  EXPECT_THAT(out, EndsWith("] Profiler End: written = 12, dropped = 3, errors = 0, "
                            "late_starts = 0, own_cost_ns = 4567\n"));
  info.errors = 5;
  info.misuses = 3;
  info.failedWrites = 2;
  writer.appendEnd(out, info);
  EXPECT_THAT(out, HasSubstr("errors = 5, misuses = 3, failed_writes = 2, late_starts = 0"));
}

TEST(LogWriterTest, CounterValuesReadBackToTheSameDouble) {
  CounterLine line;
  line.name = "loss";
  line.time = kBegin;
  line.value = 0.1;
  EXPECT_THAT(written(line), EndsWith("] Profiler Counter: name = loss, "
                                      "time = 1697793307213.760986, value = 0.1\n"));
}

}  // namespace
}  // namespace pipetrace
