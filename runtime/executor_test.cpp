#include "runtime/executor.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "profiler/testing/recorded_log.h"
#include "runtime/record/rank_info_of.h"
#include "runtime/testing/run_ranks.h"
#include "schedule/build_schedule.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using testing::runConnected;
using testing::Wiring;

// Keeps a list of the calls it got; its messages have 8 bytes and say which they are.
class ListedWork : public StageWork {
 public:
  void lr(int step) override { list_.push_back("lr " + std::to_string(step)); }
  Message forward(int stage, int microBatch, Message input) override {
    list_.push_back(std::to_string(stage) + "F" + std::to_string(microBatch));
    inputs_.push_back(input.deadline);
    return {.tensor = at::empty({2}), .deadline = 1000 + 10 * stage + microBatch};
  }
  Message backward(int stage, int microBatch, Message gradient) override {
    list_.push_back(std::to_string(stage) + "B" + std::to_string(microBatch));
    inputs_.push_back(gradient.deadline);
    return {.tensor = at::empty({2}), .deadline = 2000 + 10 * stage + microBatch};
  }
  void optimizerStep() override { list_.push_back("optimizer"); }

  std::vector<std::string> list_;
  std::vector<Nanoseconds> inputs_;  // which message each job got, in the order of the jobs
};

// A peer that answers every receive at once, and never takes a message until released.
class ScriptedTransport : public Transport {
 public:
  ScriptedTransport(int rank, int worldSize) : rank_(rank), worldSize_(worldSize) {}
  int rank() const override { return rank_; }
  int worldSize() const override { return worldSize_; }
  SendCompletion send(int, const MessageKey&, Message) override {
    return [this] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return released_; });
    };
  }
  Message recv(int, const MessageKey& key) override {
    const std::lock_guard lock(mutex_);
    asked_.insert(key);
    changed_.notify_all();
    return {.tensor = at::empty({2})};
  }
  void abort(const std::string&) noexcept override { release(); }
  void finish() override {}

  void release() noexcept {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  bool wasAskedWithin(const MessageKey& key, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return asked_.contains(key); });
  }

 private:
  const int rank_;
  const int worldSize_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<MessageKey> asked_;
  bool released_ = false;
};

std::vector<std::string> textsOf(const Plan& plan, int rank) {
  std::vector<std::string> texts;
  for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
    texts.push_back(toText(action));
  }
  return texts;
}

TEST(ExecutorTest, EveryRankRunsItsActionsInThePlansOrder) {
  for (const char* name : {"FThenB", "GPipe", "1F1B"}) {
    const CheckedPlan plan = buildSchedule(name, 4, 8);
    std::vector<ListedWork> works(4);
    const auto errors = runConnected(Wiring::kInProcess, 4, [&](Transport& transport) {
      Executor executor(plan, works[static_cast<std::size_t>(transport.rank())], transport);
      executor.runStep(5);
      executor.finish();
    });
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(errors[static_cast<std::size_t>(rank)], "");
      std::vector<std::string> expected = textsOf(*plan, rank);
      expected.insert(expected.begin(), "lr 5");
      expected.emplace_back("optimizer");
      EXPECT_EQ(works[static_cast<std::size_t>(rank)].list_, expected) << name << " rank " << rank;
    }
  }
}

TEST(ExecutorTest, EveryJobGetsTheMessageThatIsForIt) {
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  std::vector<ListedWork> works(3);
  runConnected(Wiring::kInProcess, 3, [&](Transport& transport) {
    Executor executor(plan, works[static_cast<std::size_t>(transport.rank())], transport);
    executor.runStep(0);
    executor.finish();
  });
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<Nanoseconds> expected;
    for (const Action& a : plan->ranks[static_cast<std::size_t>(rank)]) {
      const bool forward = a.kind == JobKind::kForward;
      const int from = forward ? a.stage - 1 : a.stage + 1;
      const bool none = from < 0 || from > 2;
      expected.push_back(none ? 0 : (forward ? 1000 : 2000) + 10 * from + a.microBatch);
    }
    EXPECT_EQ(works[static_cast<std::size_t>(rank)].inputs_, expected);
  }
}

TEST(ExecutorTest, AReceiveIsPostedWhileTheActionBeforeRuns) {
  // Rank 1 of 2 under FThenB: 1F0 1F1 … The receive for 1F1 has to be posted while 1F0 runs.
  class WaitingWork : public ListedWork {
   public:
    explicit WaitingWork(ScriptedTransport& transport) : transport_(transport) {}
    Message forward(int stage, int microBatch, Message input) override {
      const MessageKey next{.step = 0, .stage = 1, .microBatch = microBatch + 1};
      if (microBatch < 2) {
        EXPECT_TRUE(transport_.wasAskedWithin(next, std::chrono::seconds(20))) << microBatch;
      }
      const MessageKey afterNext{.step = 0, .stage = 1, .microBatch = microBatch + 2};
      EXPECT_FALSE(transport_.wasAskedWithin(afterNext, std::chrono::milliseconds(0)));
      return ListedWork::forward(stage, microBatch, std::move(input));
    }

   private:
    ScriptedTransport& transport_;
  };
  ScriptedTransport transport(1, 2);
  WaitingWork work(transport);
  Executor executor(buildSchedule("FThenB", 2, 3), work, transport);
  executor.runStep(0);
  transport.release();
  executor.finish();
}

TEST(ExecutorTest, ASendThatNobodyTakesHoldsUpNoJob) {
  ScriptedTransport transport(1, 3);
  ListedWork work;
  Executor executor(buildSchedule("1F1B", 3, 4), work, transport);
  executor.runStep(0);
  EXPECT_EQ(work.list_.size(), 10U);
  transport.release();
  executor.finish();
}

/// The times of a job's line, in order: begin, end.
std::pair<std::string, std::string> timesOf(const std::string& line) {
  const auto after = [&](const std::string& mark) {
    const std::size_t at = line.find(mark) + mark.size();
    return line.substr(at, line.find_first_of(",\n", at) - at);
  };
  return {after("start_time = "), after("end_time = ")};
}

TEST(ExecutorTest, ASendBeginsWhenItIsHandedOverAndNotWhenItsLaneIsFree) {
  ScriptedTransport transport(1, 3);
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  const RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .info = rankInfoOf(*plan, 1)});
  {
    ListedWork work;
    Executor executor(plan, work, transport, addCpuLanes(recorder));
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

TEST(ExecutorTest, AFailedJobStopsThePeersAndIsRethrown) {
  class FailingWork : public ListedWork {
   public:
    Message backward(int, int, Message) override { throw Error("out of memory"); }
  };
  const CheckedPlan plan = buildSchedule("1F1B", 2, 4);
  const auto errors = runConnected(Wiring::kInProcess, 2, [&](Transport& transport) {
    ListedWork good;
    FailingWork bad;
    StageWork& work = transport.rank() == 1 ? static_cast<StageWork&>(bad) : good;
    Executor executor(plan, work, transport);
    executor.runStep(0);
    executor.finish();
  });
  EXPECT_EQ(errors[1], "out of memory");
  EXPECT_THAT(errors[0], HasSubstr("rank 1 failed: out of memory"));
}

TEST(ExecutorTest, APlanThatDoesNotFitIsRefused) {
  ScriptedTransport transport(1, 3);
  ListedWork work;
  EXPECT_THROW(Executor(buildSchedule("1F1B", 4, 4), work, transport), Error);
  Plan deadlock = buildSchedule("1F1B", 3, 4);
  std::swap(deadlock.ranks[2].front(), deadlock.ranks[2].back());
  EXPECT_THROW(Executor(CheckedPlan(deadlock), work, transport), Error);
  Plan halves = buildSchedule("FThenB", 3, 1);
  for (auto& actions : halves.ranks) {
    actions[1].kind = JobKind::kBackwardInput;
    actions.push_back(actions[1]);
    actions[2].kind = JobKind::kBackwardWeight;
  }
  EXPECT_THROW(Executor(CheckedPlan(halves), work, transport), Error);
  Plan noFlush = buildSchedule("1F1B", 3, 4);
  noFlush.updates.every = 1;
  EXPECT_THROW(Executor(CheckedPlan(noFlush), work, transport), Error);
  Plan bothWays = buildSchedule("1F1B", 3, 4);
  bothWays.rankOfStageReversed = bothWays.rankOfStage;
  bothWays.firstReversed = 2;
  EXPECT_THROW(Executor(CheckedPlan(bothWays), work, transport), Error);
}

// From here on: a recorded step in the job log.

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
        Executor executor(plan_, work, transport, addCpuLanes(recorder));
        for (int step = 0; step < kSteps; ++step) executor.runStep(step);
        executor.finish();
      }
      recorder.close();
    });
    for (const std::string& error : errors) ASSERT_EQ(error, "");
  }

  // The text after "key = " up to the next comma; "" if the key is missing.
  static std::string value(const std::string& line, const std::string& key) {
    const std::string mark = key + " = ";
    auto at = line.starts_with(mark) ? 0 : line.find(", " + mark);
    if (at == std::string::npos) return "";
    if (at != 0) at += 2;
    at += mark.size();
    return line.substr(at, line.find(',', at) - at);
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
      EXPECT_EQ(value(line, "stream"), type.substr(0, 4));
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
