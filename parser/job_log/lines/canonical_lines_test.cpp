#include "parser/job_log/lines/canonical_lines.h"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "parser/job_log/job_log_reader.h"
#include "parser/testing/files.h"
#include "parser/testing/timelines.h"

namespace pipetrace {
namespace {

const std::string kJob =
    "I1020 09:15:07.265326 22317 executor.cpp:217] Profiler Info: Job (2), type = forward, "
    "micro_batch_id = 2, job_start_time = 1697793307213.760986, job_end_time = "
    "1697793307254.006104";
const std::string kSend =
    "Profiler Stream: type = send_forward, micro_batch_id = 2, start_time = 1697793307254.006104, "
    "end_time = 1697793307254.506104, stream = send, peer = 1, bytes = 4096, job = 41";

const std::vector<std::string> kCanonical = {
    kJob,
    kJob + ", id = 41, step = 7, stage = 1, chunk = 0, stream = compute, action = 1F2",
    kJob + ", action = \"(0F7;7B3)OVERLAP_F_B\", part = 3, version = 12, peer = 0, other = -0.5",
    kJob + ", stream = side, note = \"a, b = c\", id = 123456789012345678",
    kSend,
    kSend + ", step = 7, stage = 1, chunk = 0",
    kJob + ", step = 7, phase = evaluate",
    kJob + ", version = 12, phase = predict",
    kJob + ", phase = training, note = x",
    kSend + ", step = 7, phase = evaluate",
    "Profiler Stream: type = all_reduce, start_time = 1.000000, end_time = 2.000000, "
    "stream = nccl:0, bytes = 12345678901",
    "Profiler Info: Job (0), type = lr, micro_batch_id = 0, job_start_time = 0.000001, "
    "job_end_time = 9223372036854.775807",
    "Profiler Info: Job (7), type = my_own, micro_batch_id = 0, job_start_time = 1.000000, "
    "job_end_time = 1.000000",
    "Profiler Info: Job (7), type = backward_b1, micro_batch_id = 0, job_start_time = 1.000000, "
    "job_end_time = 1.500000",
};
const std::vector<std::string> kCounters = {
    "Profiler Counter: name = live_activations, time = 1697793307213.760986, value = 3",
    "x] Profiler Counter: name = memory, time = 6.250000, value = -1.5e+20",
};

/// The length of the first line, as read by hand; 0 when it is not.
std::size_t lengthByHand(const std::string& lines) {
  StringTable strings;
  RankPart part;
  CanonicalLines canonical(strings);
  canonical.setPart(part);
  const std::size_t length = canonical.read(lines.substr(lines.find("Profiler ")));
  EXPECT_EQ(part.countedLines(strings), length > 0 ? 1 : 0);
  return length;
}

std::string read(const std::string& log, LogReading reading, int threads = 1) {
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("log", log);
  const ReadOutcome outcome =
      JobLogReader(reading).read(source, {.threads = threads}, timeline, diagnostics);
  timeline.sort();
  std::string text = test::describe(timeline) + std::to_string(outcome.events) + outcome.whyNone;
  for (const CounterSeries& series : timeline.counters) {
    text += "\n" + std::to_string(series.rank) + " " + series.name + " " + series.unit;
    for (const CounterSample& sample : series.samples) {
      text += " " + std::to_string(sample.time) + "=" + std::to_string(sample.value);
    }
  }
  for (const Diagnostic& diagnostic : diagnostics.list()) text += "\n" + toText(diagnostic);
  return text;
}

/// Lines of all kinds.
std::vector<std::string> allCanonical() {
  std::vector<std::string> lines = kCanonical;
  lines.insert(lines.end(), kCounters.begin(), kCounters.end());
  return lines;
}

TEST(CanonicalLinesTest, LinesOfOurWriterAreReadByHandAndAlike) {
  for (const std::string& line : allCanonical()) {
    const std::size_t length = line.size() - line.find("Profiler ");
    EXPECT_EQ(lengthByHand(line + "\n"), length + 1) << line;
    EXPECT_EQ(lengthByHand(line + "\r\n"), length + 2) << line;
    EXPECT_EQ(lengthByHand(line), 0U) << "a line without end is not whole";
    EXPECT_EQ(read(line + "\n", LogReading::kFast), read(line + "\n", LogReading::kByPattern));
  }
}

TEST(CanonicalLinesTest, LinesThatNeedADiagnosticOrAPatternAreNotReadByHand) {
  for (const std::string& line : std::vector<std::string>{
           kJob + ", step = 9999999999",
           kJob + ", step = x",
           kJob + ", step = -1",
           kJob + ", chunk = 32768",
           kJob + ", malformed",
           kJob + ", phase = \"evaluate\"",
           kJob + ", a = \"\\u0041\"",
           kJob + ", a = \"open",
           kJob + ", name = 前向",
           kJob + " , step = 1",
           kJob + "0",
           "Profiler Info: Job (2), type = \"a b\", micro_batch_id = 2, job_start_time = 1.000000, "
           "job_end_time = 2.000000",
           "Profiler Info: Job (2), type = a, micro_batch_id = 2, job_start_time = 3.000000, "
           "job_end_time = 2.000000",
           "Profiler Stream: type = send_forward, start_time = 1.000000, end_time = 2.000000",
           kSend + ", type = copy",
           "Profiler Meta: version = 1, rank = 0",
           kCounters[0] + "x",
           kCounters[0] + ", unit = MB",
           "Profiler Counter: name = a, time = 1.000000, value = nan",
           "Profiler Counter: time = 1.000000, name = a, value = 1",
           "Profiler Counter: name = \"a b\", time = 1.000000, value = 1",
           "Profiler Counter: name = a, time = 1, value = 1",
       }) {
    EXPECT_EQ(lengthByHand(line + "\n"), 0U) << line;
  }
}

TEST(CanonicalLinesTest, ARunOfOursIsReadAlikeBothWays) {
  const std::string log = test::logOf(test::oneFOneB(4, 8, 20), 1);
  EXPECT_EQ(read(log, LogReading::kFast), read(log, LogReading::kByPattern));
}

TEST(CanonicalLinesTest, AnyTextIsReadAlikeBothWays) {
  std::mt19937 random(2);
  const std::vector<std::string> canonical = allCanonical();
  const std::string letters = ", =\"\\.0159-_xP\t\r\n\x80\xe5:";
  for (int i = 0; i < 4000; ++i) {
    std::string log;
    for (unsigned lines = 1 + random() % 4; lines > 0; --lines) {
      std::string line = canonical[random() % canonical.size()] + "\n";
      for (unsigned changes = random() % 3; changes > 0; --changes) {
        // Mostly after the head, which is most of the line.
        const std::size_t at =
            line.size() - 1 - random() % (random() % 2 == 0 ? line.size() : line.size() / 3);
        const char letter = letters[random() % letters.size()];
        switch (random() % 3) {
          case 0: line[at] = letter; break;
          case 1: line.insert(at, 1, letter); break;
          default: line.erase(at, 1);
        }
      }
      log += line;
    }
    ASSERT_EQ(read(log, LogReading::kFast), read(log, LogReading::kByPattern)) << log;
  }
}

/// A log that is larger than one thread reads alone, with lines of all kinds.
std::string longLog() {
  std::mt19937 random(9);
  std::string log = "Profiler Meta: version = 1, rank = 3, world_size = 4\n";
  for (int i = 0; log.size() < (std::size_t{6} << 20); ++i) {
    log += kCanonical[random() % kCanonical.size()] + ", tag = t" + std::to_string(i % 1000) + "\n";
    if (i % 7 == 0) log += "some other output of the program\n";
    if (i % 1000 == 0) log += kJob + ", step = no number\n";
    if (i % 1500 == 0) log += "Profiler Counter: name = loss, time = 1.5, value = 0.25\n";
    if (i % 3 == 0) log += kCounters[random() % kCounters.size()] + "\n";
    if (i == 9000) log += "Profiler Meta: version = 1, rank = 3, world_size = 4, host = second\n";
  }
  return log + "Profiler End: written = 5, dropped = 0\n" + kJob;
}

TEST(CanonicalLinesTest, SeveralThreadsReadALogAsOneDoes) {
  const std::string log = longLog();
  const std::string expected = read(log, LogReading::kFast, 1);
  EXPECT_THAT(expected, testing::HasSubstr("the last line is cut off"));
  EXPECT_THAT(expected, testing::HasSubstr("second"));
  EXPECT_EQ(read(log, LogReading::kFast, 2), expected);
  EXPECT_EQ(read(log, LogReading::kFast, 5), expected);
  EXPECT_EQ(read(log, LogReading::kByPattern, 3), expected);
}

TEST(CanonicalLinesTest, EventsTakeHardlyMoreMemoryThanTheyNeed) {
  std::string log;
  for (int i = 0; i < 60'000; ++i) log += kCanonical[static_cast<std::size_t>(i % 2) * 4] + "\n";
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("log", log);
  JobLogReader().read(source, {}, timeline, diagnostics);
  ASSERT_EQ(timeline.tracks.size(), 2U);
  for (const Track& track : timeline.tracks) {
    ASSERT_EQ(track.events.size(), 30'000U);
    EXPECT_LE(track.events.capacity(), 30'000U * 9 / 8);
  }
}

}  // namespace
}  // namespace pipetrace
