// A rank that fails, stalls or waits in vain ends the run for all, and all name it.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "runtime/executor.h"
#include "runtime/program/plan_words.h"
#include "runtime/testing/listed_work.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/scripted_transport.h"
#include "runtime/transport/forwarding_transport.h"
#include "runtime/transport/in_process.h"
#include "schedule/build_schedule.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ListedWork;
using testing::Wiring;

enum class FaultAt : std::uint8_t { kForward, kData, kEnd };

/// Does something else in a forward or the data of step 1, or in the last optimizer job.
class FaultyWork : public ListedWork {
 public:
  FaultyWork(std::function<void()> fault, FaultAt at) : fault_(std::move(fault)), at_(at) {}

  void beginStep(int step) override { step_ = step; }
  bool hasData() const override { return at_ == FaultAt::kData; }
  void awaitData(int step) override {
    if (step == 1) fault_();
  }
  Message forward(int stage, int microBatch, Message input) override {
    if (at_ == FaultAt::kForward && step_ == 1 && microBatch == 2) fault_();
    return ListedWork::forward(stage, microBatch, std::move(input));
  }
  void optimizerStep() override {
    if (at_ == FaultAt::kEnd && step_ == 2) fault_();
  }

 private:
  const std::function<void()> fault_;
  const FaultAt at_;
  int step_ = 0;
};

/// A transport that loses messages on their way.
class LossyTransport : public ForwardingTransport {
 public:
  LossyTransport(Transport& inner, MessageKey lost) : ForwardingTransport(inner), lost_(lost) {}

  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override {
    return std::make_unique<LossyLane>(inner().openSend(to, name, messages), lost_);
  }

 private:
  // From the lost message on it sends nothing, as a wire that is cut.
  class LossyLane : public SendLane<Message> {
   public:
    LossyLane(std::unique_ptr<SendLane<Message>> inner, MessageKey lost)
        : inner_(std::move(inner)), lost_(lost) {}
    void send(const MessageKey& key, Message&& message) override {
      isCut_ = isCut_ || key == lost_;
      if (!isCut_) inner_->send(key, std::move(message));
    }
    std::optional<std::uint64_t> nextDone() override { return inner_->nextDone(); }
    void awaitAll() override { inner_->awaitAll(); }

   private:
    const std::unique_ptr<SendLane<Message>> inner_;
    const MessageKey lost_;
    bool isCut_ = false;
  };

  const MessageKey lost_;
};

struct FaultyRun {
  Wiring wiring = Wiring::kInProcess;
  int faulty = 1;
  std::function<void()> fault = [] {};
  FaultAt at = FaultAt::kForward;
  std::optional<MessageKey> lost{};  ///< by rank `faulty`
  Nanoseconds stepTimeout = 0;
  int ranks = 3;
};

/// The error of each rank of 1F1B with four micro-batches and three steps.
std::vector<std::string> errorsOf(const FaultyRun& run) {
  const CheckedPlan plan = buildSchedule("1F1B", run.ranks, 4);
  ControlOptions control;
  control.limits.stall.stepTimeout = run.stepTimeout;
  control.words = wordsOf(plan, ExecutorOptions{}.ahead);
  const auto train = [&](Transport& transport, ControlChannel& channel) {
    const bool isFaulty = transport.rank() == run.faulty;
    LossyTransport lossy(transport, run.lost.value_or(MessageKey{.step = -1}));
    FaultyWork work(
        isFaulty ? run.fault : [] {}, run.at);
    Executor executor(plan, work, isFaulty ? static_cast<Transport&>(lossy) : transport, {},
                      {.control = &channel});
    for (int step = 0; step < 3; ++step) executor.runStep(step);
    executor.finish();
  };
  return testing::runControlled(run.wiring, run.ranks, control, train);
}

void expectAll(const std::vector<std::string>& errors, const std::string& text) {
  for (std::size_t rank = 0; rank < errors.size(); ++rank) {
    EXPECT_THAT(errors[rank], HasSubstr(text)) << "rank " << rank;
  }
}

/// How often an executor has its transport wait for the others at the end.
int waitsAtTheEnd(bool hasControl) {
  testing::ScriptedTransport transport(0, 1);
  transport.release();
  const CheckedPlan plan = buildSchedule("1F1B", 1, 2);
  ControlOptions options;
  options.words = wordsOf(plan, ExecutorOptions{}.ahead);
  const auto channels = controlInProcess(options, {&transport});
  ListedWork work;
  {
    Executor executor(plan, work, transport, {},
                      {.control = hasControl ? channels[0].get() : nullptr});
    executor.runStep(0);
    executor.finish();
  }
  if (!hasControl) channels[0]->finish();
  return transport.finishes_;
}

TEST(ExecutorEndTest, NobodyWaitsAgainWhereTheControlChannelKnowsThatAllHaveFinished) {
  EXPECT_EQ(waitsAtTheEnd(true), 0) << "a rank that is stopped then would keep the others";
  EXPECT_EQ(waitsAtTheEnd(false), 1);
}

class ExecutorFailureTest : public ::testing::TestWithParam<Wiring> {};

TEST_P(ExecutorFailureTest, ARunWithoutFaultsEndsInOrder) {
  const auto errors = errorsOf({.wiring = GetParam(), .stepTimeout = 5 * kNsPerSecond});
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST_P(ExecutorFailureTest, AnExceptionIsReportedByAllRanksWithItsAction) {
  for (const int faulty : {0, 1, 2}) {
    const auto errors = errorsOf({.wiring = GetParam(), .faulty = faulty, .fault = [] {
                                    throw Error("the matrix has no inverse");
                                  }});
    const std::string rank = std::to_string(faulty);
    expectAll(errors, "rank " + rank + " failed in " + rank + "F2 of step 1 (");
    expectAll(errors, "the matrix has no inverse");
    EXPECT_THAT(errors[static_cast<std::size_t>(faulty)], HasSubstr("this is rank " + rank));
  }
}

TEST_P(ExecutorFailureTest, ARankThatStallsIsReportedByAllOnceTheTimeIsOver) {
  const auto errors =
      errorsOf({.wiring = GetParam(),
                .faulty = 2,
                .fault = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); },
                .stepTimeout = kNsPerSecond / 2});
  expectAll(errors, "rank 2 stalled: it ended no action for ");
  expectAll(errors, "in 2F2 of step 1 (");
  EXPECT_THAT(errors[1], HasSubstr("waiting for the gradients of micro-batch 2 for stage 1 in step "
                                   "1 from rank 2"));
}

TEST_P(ExecutorFailureTest, ARankThatStallsWhileOthersWaitForTheEndIsReported) {
  const auto errors =
      errorsOf({.wiring = GetParam(),
                .faulty = 0,
                .fault = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); },
                .at = FaultAt::kEnd,
                .stepTimeout = kNsPerSecond / 2});
  expectAll(errors, "rank 0 stalled: it ended no action for ");
  expectAll(errors, "in the optimizer of step 2 (");
  EXPECT_THAT(errors[2], HasSubstr("was after its last action, waiting for the others to finish"));
}

TEST_P(ExecutorFailureTest, ARankWhoseDataDoNotComeIsReported) {
  const auto errors =
      errorsOf({.wiring = GetParam(),
                .faulty = 0,
                .fault = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); },
                .at = FaultAt::kData,
                .stepTimeout = kNsPerSecond / 2});
  expectAll(errors, "rank 0 stalled: it ended no action for ");
  expectAll(errors, "in data loading of step 1 (");
}

TEST_P(ExecutorFailureTest, ARankThatWaitsForALostMessageIsReportedWithThatMessage) {
  const auto errors = errorsOf({.wiring = GetParam(),
                                .faulty = 0,
                                .lost = MessageKey{.step = 1, .stage = 1, .microBatch = 3},
                                .stepTimeout = kNsPerSecond / 2,
                                .ranks = 2});
  expectAll(errors, "rank 1 waits for a message that nobody sends: it stands for ");
  expectAll(errors,
            " in 1F3 of step 1 (17 actions ended), waiting for the activations of micro-batch 3 "
            "for stage 1 in step 1 from rank 0");
}

INSTANTIATE_TEST_SUITE_P(All, ExecutorFailureTest,
                         ::testing::Values(Wiring::kInProcess, Wiring::kGloo),
                         [](const auto& test) {
                           return test.param == Wiring::kGloo ? "Gloo" : "InProcess";
                         });

}  // namespace
}  // namespace pipetrace
