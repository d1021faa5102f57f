// The job log of an executor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/testing/recorded_log.h"
#include "runtime/executor.h"
#include "runtime/record/rank_recording.h"
#include "runtime/testing/listed_work.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/scripted_transport.h"
#include "schedule/build_schedule.h"
#include "schedule/forward_part.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using testing::ListedWork;
using testing::runConnected;
using testing::ScriptedTransport;
using testing::textsOf;
using testing::Wiring;

/// The text after "key = " up to the next comma; "" if the key is missing.
std::string value(const std::string& line, const std::string& key) {
  const std::string mark = key + " = ";
  auto at = line.starts_with(mark) ? 0 : line.find(", " + mark);
  if (at == std::string::npos) return "";
  if (at != 0) at += 2;
  at += mark.size();
  return line.substr(at, line.find(',', at) - at);
}

/// The times of a job's line, in order: begin, end.
std::pair<std::string, std::string> timesOf(const std::string& line) {
  const auto after = [&](const std::string& mark) {
    const std::size_t at = line.find(mark) + mark.size();
    return line.substr(at, line.find_first_of(",\n", at) - at);
  };
  return {after("start_time = "), after("end_time = ")};
}

TEST(ExecutorRecordTest, ASendBeginsWhenItIsHandedOverAndNotWhenItsLaneIsFree) {
  ScriptedTransport transport(1, 3);
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  const RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .info = rankInfoOf(*plan, 1)});
  {
    ListedWork work;
    Executor executor(plan, work, transport, addCpuStreams(recorder));
    executor.runStep(0);
    transport.release();  // until now the lane was busy with the first send
    executor.finish();
  }
  recorder.close();
  std::vector<std::pair<std::string, std::string>> jobs;
  for (const std::string& line : log.lines("Profiler Info: ", 1)) jobs.push_back(timesOf(line));
  const std::vector<std::string> sends = log.lines("Profiler Stream: ", 1);
  ASSERT_EQ(jobs.size(), 10U);  // lr, four forwards, four backwards, optimizer
  std::size_t found = 0;
  for (const std::string& line : sends) {
    if (line.find("type = send_") == std::string::npos) continue;
    const auto [begin, end] = timesOf(line);
    ++found;
    EXPECT_GE(begin, jobs.at(found).second) << "sent after its job: " << line;
    EXPECT_LE(begin, jobs.at(found + 1).first) << "and before the next: " << line;
    EXPECT_GE(end, jobs.at(9).second) << "done when the transport was: " << line;
  }
  EXPECT_EQ(found, 8U);
}

/// Keeps the texts of jobs, as a device that answers late has the recorder keep them.
class TextTrack : public JobTrack {
 public:
  void begin(const Job& job) noexcept override { texts.push_back(job.action); }
  void end() noexcept override {}

  std::vector<const char*> texts;
};

TEST(ExecutorRecordTest, TheTextsOfJobsAreTheRecordersOwnAndOutliveTheExecutor) {
  ScriptedTransport transport(1, 3);
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  const RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .info = rankInfoOf(*plan, 1)});
  TextTrack track;
  {
    ListedWork work;
    RecordedStreams streams = addCpuStreams(recorder);
    streams.track = &track;
    Executor executor(plan, work, transport, streams);
    executor.runStep(0);
    transport.release();
    executor.finish();
  }
  ASSERT_EQ(track.texts.size(), 10U);  // lr, four forwards, four backwards, optimizer
  EXPECT_EQ(track.texts[1], recorder.text("1F0"));
  EXPECT_EQ(track.texts[8], recorder.text("1B3"));
}

TEST(ExecutorRecordTest, ATransportHasNoClockOfARecorderThatIsGone) {
  ScriptedTransport transport(1, 3);
  transport.release();
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  {
    const RecordedLog log;
    Recorder recorder({.logDirectory = log.folder(), .info = rankInfoOf(*plan, 1)});
    ListedWork work;
    Executor executor(plan, work, transport, addCpuStreams(recorder));
    executor.runStep(0);
    EXPECT_TRUE(transport.hasClock());
    executor.finish();
  }
  EXPECT_FALSE(transport.hasClock());
}

TEST(ExecutorRecordTest, ATransportHasNoClockWhereItsLanesCouldNotBeOpened) {
  const RecordedLog log;
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  Recorder recorder({.logDirectory = log.folder(), .info = rankInfoOf(*plan, 1)});
  ScriptedTransport transport(1, 3);
  transport.opens_ = false;
  ListedWork work;
  EXPECT_THROW(Executor(plan, work, transport, addCpuStreams(recorder)), Error);
  EXPECT_FALSE(transport.hasClock());
}

/// Rank 0 loads data.
class LoadingWork : public ListedWork {
 public:
  explicit LoadingWork(int rank) : rank_(rank) {}
  bool hasData() const override { return rank_ == 0; }
  void awaitData(int step) override { list_.push_back("data " + std::to_string(step)); }

 private:
  const int rank_;
};

/// The jobs in the logs of two ranks and two steps: "data 0" has the type data and is of step 0.
std::vector<std::vector<std::string>> jobsWithData(const CheckedPlan& plan) {
  const RecordedLog log;
  const auto errors = runConnected(Wiring::kInProcess, 2, [&](Transport& transport) {
    const int rank = transport.rank();
    Recorder recorder({.logDirectory = log.folder(), .info = rankInfoOf(*plan, rank)});
    LoadingWork work(rank);
    {
      Executor executor(plan, work, transport, addCpuStreams(recorder));
      for (int step = 0; step < 2; ++step) executor.runStep(step);
      executor.finish();
    }
    EXPECT_EQ(std::count(work.list_.begin(), work.list_.end(), "data 1"), rank == 0 ? 1 : 0);
    recorder.close();
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
  std::vector<std::vector<std::string>> jobs(2);
  for (int rank = 0; rank < 2; ++rank) {
    for (const std::string& line : log.lines("Profiler Info: ", rank)) {
      jobs[static_cast<std::size_t>(rank)].push_back(value(line, "type") + " " +
                                                     value(line, "step"));
      if (value(line, "type") != "data") continue;
      EXPECT_EQ(value(line, "micro_batch_id"), "0");
      EXPECT_EQ(value(line, "stream"), "compute");
    }
  }
  return jobs;
}

TEST(RecordedDataTest, AStepOpensWithItsDataOnTheRanksThatLoadSome) {
  const auto jobs = jobsWithData(buildSchedule("1F1B", 2, 1));
  EXPECT_THAT(jobs[0], ElementsAre("data 0", "lr 0", "forward 0", "backward 0", "optimizer 0",
                                   "data 1", "lr 1", "forward 1", "backward 1", "optimizer 1"));
  EXPECT_THAT(jobs[1], ElementsAre("lr 0", "forward 0", "backward 0", "optimizer 0",  //
                                   "lr 1", "forward 1", "backward 1", "optimizer 1"));
}

TEST(RecordedDataTest, AStepThatOnlyRunsForwardOpensWithItsDataToo) {
  const auto jobs = jobsWithData(CheckedPlan(forwardPart(buildSchedule("1F1B", 2, 1))));
  EXPECT_THAT(jobs[0], ElementsAre("data 0", "forward 0", "data 1", "forward 1"));
  EXPECT_THAT(jobs[1], ElementsAre("forward 0", "forward 1"));
}

class RecordedExecutorTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;
  static constexpr int kMicroBatches = 4;
  static constexpr int kSteps = 2;

  void SetUp() override {
    const auto errors = runConnected(Wiring::kGloo, kRanks, [&](Transport& transport) {
      Recorder recorder(
          {.logDirectory = log_.folder(), .info = rankInfoOf(*plan_, transport.rank())});
      ListedWork work;
      {
        Executor executor(plan_, work, transport, addCpuStreams(recorder));
        for (int step = 0; step < kSteps; ++step) executor.runStep(step);
        executor.finish();
      }
      recorder.close();
    });
    for (const std::string& error : errors) ASSERT_EQ(error, "");
  }

  const CheckedPlan plan_ = buildSchedule("1F1B", kRanks, kMicroBatches);
  const RecordedLog log_;
};

TEST_F(RecordedExecutorTest, EveryStepOpensWithLrAndClosesWithOptimizer) {
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto jobs = log_.lines("Profiler Info: ", rank);
    const std::size_t perStep = 2 + 2 * kMicroBatches;
    ASSERT_EQ(jobs.size(), kSteps * perStep);
    const auto texts = textsOf(*plan_, rank);
    std::set<std::string> ids;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::size_t place = i % perStep;
      const bool edge = place == 0 || place == perStep - 1;
      EXPECT_EQ(value(jobs[i], "step"), std::to_string(i / perStep));
      EXPECT_EQ(value(jobs[i], "action"), edge ? "" : texts[place - 1]);
      if (edge) {
        EXPECT_EQ(value(jobs[i], "type"), place == 0 ? "lr" : "optimizer");
        EXPECT_EQ(value(jobs[i], "micro_batch_id"), "0");
      } else {
        EXPECT_EQ(value(jobs[i], "stage"), std::to_string(rank));
        EXPECT_EQ(value(jobs[i], "chunk"), "0");
      }
      ids.insert(value(jobs[i], "id"));
    }
    EXPECT_EQ(ids.size(), jobs.size());
  }
}

TEST_F(RecordedExecutorTest, EveryMessageIsRecordedAtBothEndsWithTheJobItBelongsTo) {
  for (int rank = 0; rank < kRanks; ++rank) {
    std::map<std::string, std::string> jobs;  // by id: kind, micro-batch, step
    for (const std::string& line : log_.lines("Profiler Info: ", rank)) {
      jobs[value(line, "id")] =
          value(line, "type") + value(line, "micro_batch_id") + "/" + value(line, "step");
    }
    std::map<std::string, int> counts;
    for (const std::string& line : log_.lines("Profiler Stream: ", rank)) {
      const std::string type = value(line, "type");
      const bool forward = type.ends_with("forward");
      EXPECT_EQ(jobs[value(line, "job")], std::string(forward ? "forward" : "backward") +
                                              value(line, "micro_batch_id") + "/" +
                                              value(line, "step"));
      const bool fromBelow = (type == "recv_forward") || (type == "send_backward");
      EXPECT_EQ(value(line, "peer"), std::to_string(fromBelow ? rank - 1 : rank + 1));
      EXPECT_EQ(value(line, "bytes"), "8");
      EXPECT_EQ(value(line, "stream"), type);
      ++counts[type];
    }
    const int each = kSteps * kMicroBatches;
    EXPECT_EQ(counts["recv_forward"], rank > 0 ? each : 0);
    EXPECT_EQ(counts["send_backward"], rank > 0 ? each : 0);
    EXPECT_EQ(counts["send_forward"], rank < kRanks - 1 ? each : 0);
    EXPECT_EQ(counts["recv_backward"], rank < kRanks - 1 ? each : 0);
  }
}

TEST_F(RecordedExecutorTest, TheLogDescribesThePipeline) {
  const std::string meta = log_.lines("Profiler Meta: ", 1).at(0);
  EXPECT_EQ(value(meta, "rank"), "1");
  EXPECT_EQ(value(meta, "world_size"), "3");
  EXPECT_EQ(value(meta, "num_stages"), "3");
  EXPECT_EQ(value(meta, "num_chunks"), "1");
  EXPECT_EQ(value(meta, "num_micro_batches"), "4");
  EXPECT_EQ(value(meta, "schedule"), "1F1B");
  EXPECT_EQ(log_.lines("Profiler End: ", 1).size(), 1U);
}

}  // namespace
}  // namespace pipetrace
