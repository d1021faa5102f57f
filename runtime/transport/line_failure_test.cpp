// Messages on lines that go wrong: each error names the message, and ends the run for all ranks.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/executor.h"
#include "runtime/rehearse/chain_work.h"
#include "runtime/stage_work.h"
#include "runtime/testing/device/test_device.h"
#include "runtime/testing/line_ranks.h"
#include "runtime/transport/forwarding_transport.h"
#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/order_messages.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::inLine;
using ::testing::IsEmpty;
using testing::LineRank;
using testing::runOnLines;

/// The place of a job: its step, stage and micro-batch.
struct JobPlace {
  int step = 0;
  int stage = 0;
  int microBatch = 0;
};

/// Passes tensors of two columns on, on a device.
class PassingWork : public ChainWork {
 public:
  /// The tensor that a job makes, in place of its own.
  using Change = std::function<at::Tensor(const JobPlace& place, const at::Tensor& own)>;

  PassingWork(RankDevice& device, Change forward, Change backward)
      : device_(device),
        current_(device),
        forward_(std::move(forward)),
        backward_(std::move(backward)) {}

  void beginStep(int step) override { step_ = step; }
  void lr(int /*step*/) override {}
  void optimizerStep() override {}
  std::int64_t rows() const override { return rows_ ? rows_(step_) : 0; }
  RankDevice* device() override { return &device_; }
  Message forward(int stage, int microBatch, Message /*input*/) override {
    return made(forward_, stage, microBatch);
  }
  Message backward(int stage, int microBatch, Message /*gradient*/) override {
    return made(backward_, stage, microBatch);
  }

  std::function<std::int64_t(int step)> rows_;

 private:
  Message made(const Change& change, int stage, int microBatch) const {
    const at::Tensor own = at::full({3, 2}, 1.0 + microBatch, device_.device());
    return {.tensor = change ? change({step_, stage, microBatch}, own) : own};
  }

  RankDevice& device_;
  const RankDevice::Current current_;
  const Change forward_;
  const Change backward_;
  int step_ = 0;
};

/// Three steps of 1F1B with three ranks.
struct PassingRun {
  PassingWork::Change forward = {};
  PassingWork::Change backward = {};
  std::function<std::int64_t(int rank, int step)> rows = {};
  std::int64_t moved = 0;

  std::vector<std::string> errors() {
    const CheckedPlan plan = inLine(buildSchedule("1F1B", 3, 4));
    return runOnLines(plan, [&](const LineRank& rank) {
      const int own = rank.transport.rank();
      RankDevice device(testDevice(own), 100);
      PassingWork work(device, forward, backward);
      if (rows) work.rows_ = [&](int step) { return rows(own, step); };
      Executor executor(plan, work, rank.transport, {}, {.control = rank.control});
      for (int step = 0; step < 3; ++step) executor.runStep(step);
      executor.finish();
      if (own == 0) moved = rank.moved();
    });
  }
};

class LineFailure : public ::testing::Test {
 protected:
  void SetUp() override {
    installTestDevice();
    resetTestDevice();
  }
  void TearDown() override { EXPECT_THAT(takeTestDeviceFindings(), IsEmpty()); }
};

TEST_F(LineFailure, AGradientThatNobodyMakesMovesNothing) {
  PassingRun run{.backward = [](const JobPlace& place, const at::Tensor& own) {
    return place.stage == 1 ? own : at::Tensor();
  }};
  EXPECT_THAT(run.errors(), Each(IsEmpty()));
  EXPECT_EQ(run.moved, 2 * 4 * (2 + 1)) << "steps, micro-batches, activations and a gradient";
}

TEST_F(LineFailure, AGradientThatWasNotThereInTheFirstStepIsRefused) {
  PassingRun run{.backward = [](const JobPlace& place, const at::Tensor& own) {
    const bool isNew = place.step == 2 && place.microBatch == 1;
    return place.stage == 1 || isNew ? own : at::Tensor();
  }};
  EXPECT_THAT(run.errors(),
              Each(AllOf(HasSubstr("sending the gradients of micro-batch 1 for stage 1 in step 2"),
                         HasSubstr("it has 3 × 2, where earlier ones had no tensor"))));
}

TEST_F(LineFailure, AGradientThatIsMissingAfterTheFirstStepIsRefused) {
  PassingRun run{.backward = [](const JobPlace& place, const at::Tensor& own) {
    return place.step == 1 && place.microBatch == 3 ? at::Tensor() : own;
  }};
  EXPECT_THAT(run.errors(), Each(AllOf(HasSubstr("the gradients of micro-batch 3 for stage"),
                                       HasSubstr("in step 1"), HasSubstr("no tensor"))));
}

TEST_F(LineFailure, AShapeThatChangesInMoreThanItsRowsIsRefused) {
  PassingRun run{.forward = [](const JobPlace& place, const at::Tensor& own) {
    return place.step == 1 && place.microBatch == 2 ? own.reshape({2, 3}) : own;
  }};
  EXPECT_THAT(run.errors(),
              Each(AllOf(HasSubstr("sending the activations of micro-batch 2 for stage 1 in step 1 "
                                   "to rank 1: its shape is 2 × 3, where the other rank waits for "
                                   "3 × 2"))));
}

TEST_F(LineFailure, ATensorThatIsNotContiguousArrivesAllTheSame) {
  PassingRun run{.forward = [](const JobPlace&, const at::Tensor& own) { return own.t(); }};
  EXPECT_THAT(run.errors(), Each(IsEmpty()));
}

TEST_F(LineFailure, RowsThatTheLastStageAloneKnowsReachAllRanks) {
  const auto rowsOf = [](int step) { return std::int64_t{9} + 5 * step; };
  const PassingWork::Change ofRows = [&](const JobPlace& place, const at::Tensor& own) {
    const MicroBatchRows rows{.rows = rowsOf(place.step), .microBatches = 4};
    return at::ones({rows.countOf(place.microBatch), 2}, own.options());
  };
  PassingRun run{.forward = ofRows, .backward = ofRows, .rows = [&](int rank, int step) {
                   return rank == 2 ? rowsOf(step) : 0;
                 }};
  EXPECT_THAT(run.errors(), Each(IsEmpty()));
}

TEST_F(LineFailure, RanksWithBatchesOfDifferentRowsEndTheRun) {
  PassingRun run{.rows = [](int rank, int) { return 9 + rank; }};
  EXPECT_THAT(run.errors(), Each(HasSubstr("rows in step 0, and rank 2 one of 11")));
}

TEST_F(LineFailure, ARankThatFailsInTheMiddleEndsTheRunForAllAndIsNamed) {
  for (const int step : {0, 1, 2}) {
    PassingRun run{.forward = [&](const JobPlace& place, const at::Tensor& own) {
      if (place.step == step && place.stage == 1 && place.microBatch == 2) {
        throw Error("no more paper");
      }
      return own;
    }};
    EXPECT_THAT(run.errors(),
                Each(AllOf(HasSubstr("rank 1 failed in 1F2 of step " + std::to_string(step)),
                           HasSubstr("no more paper"))));
  }
}

TEST_F(LineFailure, ADeviceThatFailsAtASendNamesTheMessage) {
  PassingRun run{.forward = [](const JobPlace& place, const at::Tensor& own) {
    if (place.step == 1 && place.stage == 0 && place.microBatch == 3) {
      failOperators([](const std::string& name, c10::Stream) {
        if (name == "aten::copy_") TORCH_CHECK(false, "the link is down");
      });
    }
    return own;
  }};
  EXPECT_THAT(run.errors(), Each(AllOf(HasSubstr("in step 1"), HasSubstr("rank"),
                                       HasSubstr("the link is down"))));
}

/// A transport that does not say that its messages run in line.
class SilentLines : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  CommStreams commStreams() const override { return CommStreams::kAsReached; }
};

/// The errors of a plan over lines, whose ranks work as far as they come.
std::vector<std::string> errorsOfPlan(const CheckedPlan& plan, bool isChecked, int& jobs) {
  std::atomic<int> count = 0;
  auto errors = runOnLines(plan, [&](const LineRank& rank) {
    RankDevice device(testDevice(rank.transport.rank()), 1000);
    const PassingWork::Change counted = [&](const JobPlace&, const at::Tensor& own) {
      ++count;
      return own;
    };
    PassingWork work(device, counted, counted);
    SilentLines silent(rank.transport);
    Executor executor(plan, work, isChecked ? rank.transport : silent, {},
                      {.control = rank.control});
    for (int step = 0; step < 2; ++step) executor.runStep(step);
    executor.finish();
  });
  jobs = count;
  return errors;
}

TEST_F(LineFailure, APlanThatWouldDeadlockIsRefusedWithItsCircleBeforeAnythingRuns) {
  const CheckedPlan plan(addTransfers(buildSchedule("LoopedBFS", 4, 8), {.ahead = 0}));
  int jobs = 0;
  EXPECT_THAT(errorsOfPlan(plan, /*isChecked=*/true, jobs),
              Each(AllOf(HasSubstr("cannot run with its messages in line"),
                         HasSubstr("that closes the cycle"))));
  EXPECT_EQ(jobs, 0);
}

TEST_F(LineFailure, ThePlanThatIsRefusedDeadlocksWhereItRuns) {
  const CheckedPlan plan(addTransfers(buildSchedule("LoopedBFS", 4, 8), {.ahead = 0}));
  int jobs = 0;
  EXPECT_THAT(errorsOfPlan(plan, /*isChecked=*/false, jobs),
              Each(HasSubstr("deadlock in line: rank")));
}

TEST_F(LineFailure, MessagesInTorchsOrderRunToTheirEnd) {
  for (const char* const name : {"1F1B", "Interleaved1F1B", "LoopedBFS", "ZBV"}) {
    int jobs = 0;
    const CheckedPlan plan(withMessagesOfTorch(buildSchedule(name, 4, 8)));
    EXPECT_THAT(errorsOfPlan(plan, /*isChecked=*/true, jobs), Each(IsEmpty())) << name;
  }
}

/// Lanes of two ranks in both directions, after the first step.
struct TwoLanes {
  explicit TwoLanes(const LineRank& rank) : device(testDevice(rank.transport.rank()), 1) {
    Transport& transport = rank.transport;
    const int peer = 1 - transport.rank();
    transport.useDevice(device);
    for (const MessageKind kind : {MessageKind::kActivations, MessageKind::kGradients}) {
      sends.push_back(transport.openSend(peer, kind, 2));
      receives.push_back(transport.openReceive(peer, kind, 2));
    }
    transport.awaitLanes();
    transport.beginStep(0, 0);
    for (const std::size_t i : {0, 1}) send(i, 0);
    for (const std::size_t i : {0, 1}) receives[i]->take(receives[i]->post(key(i, 0)), key(i, 0));
    transport.beginStep(1, 0);
  }

  static MessageKey key(std::size_t lane, int step) {
    return {.step = step, .kind = lane == 0 ? MessageKind::kActivations : MessageKind::kGradients};
  }
  void send(std::size_t lane, int step) {
    const c10::StreamGuard guard(device.compute());
    sends[lane]->send(key(lane, step),
                      {.tensor = at::ones({2}, device.device()), .made = device.record()});
  }

  RankDevice device;
  std::vector<std::unique_ptr<SendLane<Message>>> sends;
  std::vector<std::unique_ptr<ReceiveLane<Message>>> receives;
};

/// Runs `body` on both ranks, and ends the run for both with the error of the first that fails.
std::vector<std::string> errorsOfLanes(const std::function<void(TwoLanes&, int rank)>& body) {
  return runOnLines(inLine(buildSchedule("1F1B", 2, 2)), [&](const LineRank& rank) {
    TwoLanes lanes(rank);
    try {
      body(lanes, rank.transport.rank());
    } catch (const Error& e) {
      throw Error(rank.control->fail(e.what()));
    }
    rank.control->finish();
  });
}

TEST_F(LineFailure, MessagesInAnotherOrderThanAtTheOtherEndAreFound) {
  const auto errors = errorsOfLanes([](TwoLanes& lanes, int rank) {
    for (const std::size_t i : {0, 1}) {
      if (rank == 0) lanes.send(i, 1);
    }
    for (const std::size_t i : {1, 0}) {
      if (rank == 1) lanes.receives[i]->take(lanes.receives[i]->post(lanes.key(i, 1)), {});
    }
  });
  EXPECT_THAT(errors, Each(HasSubstr("the two ends do not agree: rank 0 sends to rank 1")));
}

TEST_F(LineFailure, RanksThatBothReceiveFirstAreACircle) {
  const auto errors = errorsOfLanes([](TwoLanes& lanes, int) {
    lanes.receives[0]->post(lanes.key(0, 1));
    lanes.send(0, 1);
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("deadlock in line: rank 0 receives from rank 1"),
                                 HasSubstr("rank 1 receives from rank 0"))));
}

TEST_F(LineFailure, AnAbortEndsTheWaitForAMessageWithItsReason) {
  std::vector<std::string> own(2);
  runOnLines(inLine(buildSchedule("1F1B", 2, 2)), [&](const LineRank& rank) {
    TwoLanes lanes(rank);
    if (rank.transport.rank() == 1) return;
    std::thread aborting([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      rank.transport.abort("somebody pulled the plug");
      rank.transport.abort("and again");
    });
    for (std::string& error : own) {
      try {
        const MessageKey key = TwoLanes::key(0, 1);
        lanes.receives[0]->take(lanes.receives[0]->post(key), key);
      } catch (const Error& e) {
        error = e.what();
      }
    }
    aborting.join();
  });
  EXPECT_THAT(own,
              Each("rank 0 gave up waiting for the activations of micro-batch 0 for stage 0 in "
                   "step 1 from rank 1: somebody pulled the plug"));
}

}  // namespace
}  // namespace pipetrace
