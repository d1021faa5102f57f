#include "trace/log/write_job_logs.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "trace/error.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Nanoseconds kFirstBegin = 1'697'793'307'213'760'986;

/// A job with arguments, a message with its bytes, a bubble and a counter, on ranks 3 and 5.
Timeline sample() {
  Timeline timeline;
  for (const int rank : {3, 5}) {
    RankInfo& info = timeline.ranks[rank];
    info.rank = rank;
    info.schedule = "1F1B";
    info.clockReadings = {{kFirstBegin, -17, 4}};
    info.hasEnd = true;
    info.written = 2;
    Event job;
    job.kind = JobKind::kForward;
    job.number = job.microBatch = 2;
    job.job = 41;
    job.step = 7;
    job.stage = rank;
    job.chunk = 0;
    job.part = 1;
    job.begin = kFirstBegin;
    job.end = kFirstBegin + 1000;
    StringTable& strings = timeline.strings;
    const Argument arguments[] = {Argument::ofText(strings.intern("action"), strings.intern("3F2")),
                                  Argument::ofInteger(strings.intern("version"), 6),
                                  Argument::ofReal(strings.intern("load"), 0.5),
                                  Argument::ofText(strings.intern("note"), strings.intern("a, b"))};
    timeline.setArguments(job, arguments);
    timeline.track(rank, kComputeLane).events.push_back(job);
    Event bubble;
    bubble.kind = JobKind::kBubble;
    timeline.track(rank, kBubbleLane).events.push_back(bubble);
    Event send;
    send.kind = JobKind::kSendForward;
    send.microBatch = 2;
    send.peer = 4;
    send.job = 41;
    send.begin = kFirstBegin + 1000;
    send.end = kFirstBegin + 1500;
    const Argument bytes = Argument::ofInteger(strings.intern("bytes"), 4096);
    timeline.setArguments(send, {&bytes, 1});
    timeline.track(rank, kSendLane).events.push_back(send);
    timeline.counters.push_back({rank, "memory", "bytes", {{kFirstBegin, 12.0 * rank}}});
  }
  timeline.sort();
  return timeline;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  // Lines without glog's prefix, which names the moment of writing.
  for (std::string line; std::getline(in, line);) lines.push_back(line.substr(line.find("Prof")));
  return lines;
}

TEST(WriteJobLogs, LinesHoldJobsMessagesArgumentsClocksAndCounters) {
  EXPECT_THAT(
      linesOf(jobLogText(sample(), 3)),
      testing::ElementsAre(
          "Profiler Meta: version = 1, rank = 3, schedule = 1F1B",
          "Profiler Clock: time = 1697793307213.760986, offset_ns = -17, bound_ns = 4",
          "Profiler Info: Job (2), type = forward, micro_batch_id = 2, job_start_time = "
          "1697793307213.760986, job_end_time = 1697793307213.761986, id = 41, step = 7, stage = "
          "3, chunk = 0, action = 3F2, part = 1, version = 6, load = 0.5, note = \"a, b\"",
          "Profiler Stream: type = send_forward, micro_batch_id = 2, start_time = "
          "1697793307213.761986, end_time = 1697793307213.762486, stream = send, peer = 4, bytes = "
          "4096, job = 41",
          "Profiler Counter: name = memory, time = 1697793307213.760986, value = 36, unit = bytes",
          "Profiler End: written = 2, dropped = 0, errors = 0, late_starts = 0, own_cost_ns = 0"));
}

TEST(WriteJobLogs, LogThatWasCutOffHasNoEnd) {
  Timeline timeline = sample();
  timeline.ranks.at(5).hasEnd = false;
  EXPECT_THAT(jobLogText(timeline, 5), Not(HasSubstr("Profiler End")));
}

class WriteJobLogsFiles : public testing::Test {
 protected:
  ~WriteJobLogsFiles() override { std::filesystem::remove_all(folder_); }
  std::string contents(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("job logs " + std::to_string(getpid()));
};

TEST_F(WriteJobLogsFiles, EachRankHasAFileAndFurtherRunsAreAppended) {
  const std::string inner = (folder_ / "a/b").string();
  const Timeline timeline = sample();
  writeJobLogs(timeline, inner);
  EXPECT_EQ(contents("a/b/workerlog.3"), jobLogText(timeline, 3));
  EXPECT_EQ(contents("a/b/workerlog.5"), jobLogText(timeline, 5));
  writeJobLogs(timeline, inner);
  EXPECT_EQ(contents("a/b/workerlog.3"), jobLogText(timeline, 3) + jobLogText(timeline, 3));
}

TEST_F(WriteJobLogsFiles, FolderOrFileThatCannotBeWrittenIsAnError) {
  EXPECT_THAT([] { writeJobLogs(sample(), "/proc/no such folder"); },
              testing::ThrowsMessage<Error>(HasSubstr("/proc/no such folder")));
  std::filesystem::create_directories(folder_ / "workerlog.5");  // a folder in the file's place
  EXPECT_THAT([&] { writeJobLogs(sample(), folder_.string()); },
              testing::ThrowsMessage<Error>(HasSubstr("workerlog.5")));
}

}  // namespace
}  // namespace pipetrace
