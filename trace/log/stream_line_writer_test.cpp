#include "trace/log/stream_line_writer.h"

#include <gmock/gmock.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "trace/log/log_lines.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kJobBegin = 1697793307213760986;
constexpr Nanoseconds kNow = 1697793307265326000;

std::string byLogWriter(const StreamJob& job, std::string_view stream, bool isCompute) {
  LogWriter writer(17);
  writer.setNow(kNow);
  std::string out;
  if (isCompute) {
    writer.append(out, JobLine{.type = logName(job.kind),
                               .number = job.microBatch,
                               .microBatch = job.microBatch,
                               .begin = job.begin,
                               .end = job.end,
                               .id = job.id,
                               .step = job.step,
                               .stage = job.stage,
                               .chunk = job.chunk,
                               .stream = stream,
                               .action = job.action,
                               .details = job.details,
                               .phase = job.phase});
  } else {
    writer.append(out, StreamLine{.type = logName(job.kind),
                                  .microBatch = job.microBatch,
                                  .begin = job.begin,
                                  .end = job.end,
                                  .stream = stream,
                                  .peer = job.peer,
                                  .bytes = job.bytes,
                                  .members = job.action,
                                  .job = job.id,
                                  .step = job.step,
                                  .stage = job.stage,
                                  .chunk = job.chunk,
                                  .phase = job.phase});
  }
  return out;
}

class StreamLineWriterTest : public testing::TestWithParam<bool> {
 protected:
  /// A number of any length; now and then none.
  std::int64_t anyNumber(int mostBits) {
    const auto bits = std::uniform_int_distribution<int>(-1, mostBits)(random_);
    if (bits < 0) return kNotGiven;
    return static_cast<std::int64_t>(random_() & ((std::uint64_t{1} << bits) - 1));
  }
  template <typename Integer>
  Integer any() {
    return static_cast<Integer>(anyNumber(static_cast<int>(8 * sizeof(Integer)) - 1));
  }
  StreamJob anyJob() {
    StreamJob job{.kind = static_cast<JobKind>(random_() % kJobKindCount),
                  .chunk = any<std::int16_t>(),
                  .microBatch = any<std::int32_t>(),
                  .step = any<std::int32_t>(),
                  .stage = any<std::int32_t>(),
                  .begin = kJobBegin + any<std::int32_t>(),
                  .id = any<std::int64_t>(),
                  .peer = any<std::int32_t>(),
                  .bytes = any<std::int64_t>(),
                  .action = actions_[random_() % actions_.size()],
                  .details = {.part = any<std::int64_t>(), .version = any<std::int64_t>()},
                  .phase = static_cast<Phase>(random_() % kPhaseCount)};
    job.end = job.begin + any<std::int32_t>();
    return job;
  }

  std::mt19937_64 random_{1};
  std::vector<std::string> actions_ = {"", "0F0", "(0F7;7B3)OVERLAP_F_B", std::string(600, 'x')};
};

INSTANTIATE_TEST_SUITE_P(Streams, StreamLineWriterTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "Compute" : "Other"; });

TEST_P(StreamLineWriterTest, LinesAreThoseOfTheLogWriter) {
  for (const std::string& stream :
       {std::string("compute"), std::string(), std::string("a stream"), std::string(700, 's')}) {
    LogWriter writer(17);
    writer.setNow(kNow);
    StreamLineWriter lines(writer, stream, GetParam());
    for (int i = 0; i < 2000; ++i) {
      const StreamJob job = anyJob();
      InPlaceText out;
      lines.append(out, job);
      ASSERT_EQ(out.text(), byLogWriter(job, stream, GetParam())) << "job " << i;
    }
  }
}

TEST_P(StreamLineWriterTest, EachLineHasTheNumbersOfItsOwnJob) {
  LogWriter writer(17);
  writer.setNow(kNow);
  StreamLineWriter lines(writer, "compute", GetParam());
  for (int step = 0; step < 3; ++step) {
    for (int stage = 0; stage < 3; ++stage) {
      // Chunks 9 and 1 share a place in the cache.
      for (const int chunk : {0, 1, 9, 1, kNotGiven, 7}) {
        const StreamJob job{
            .chunk = static_cast<std::int16_t>(chunk), .step = step, .stage = stage};
        InPlaceText out;
        lines.append(out, job);
        ASSERT_EQ(out.text(), byLogWriter(job, "compute", GetParam()));
      }
    }
  }
}

TEST_P(StreamLineWriterTest, IdsThatCountUpAreWrittenWithAllTheirDigits) {
  LogWriter writer(17);
  writer.setNow(kNow);
  StreamLineWriter lines(writer, "compute", GetParam());
  StreamJob job;
  for (const std::int64_t start : {0, 7, 95, 99'990, 99'999'990}) {
    for (job.id = start; job.id < start + 120; job.id += job.id % 50 == 0 ? 2 : 1) {
      InPlaceText out;
      lines.append(out, job);
      ASSERT_EQ(out.text(), byLogWriter(job, "compute", GetParam()));
    }
  }
}

TEST_P(StreamLineWriterTest, TheLongestNumbersAreWrittenWhole) {
  StreamJob job{.kind = JobKind::kReduceScatter};
  job.chunk = std::numeric_limits<std::int16_t>::min();
  job.microBatch = job.step = job.stage = job.peer = std::numeric_limits<std::int32_t>::min();
  job.details.part = job.details.version = std::numeric_limits<std::int64_t>::min();
  job.id = job.bytes = job.begin = job.end = std::numeric_limits<std::int64_t>::min();
  LogWriter writer(17);
  writer.setNow(kNow);
  StreamLineWriter lines(writer, "compute", GetParam());
  InPlaceText out;
  lines.append(out, job);
  EXPECT_EQ(out.text(), byLogWriter(job, "compute", GetParam()));
}

}  // namespace
}  // namespace pipetrace
