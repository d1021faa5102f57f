// A replica that fails while gradients are added up ends the run for all, and all name it.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/executor.h"
#include "runtime/program/plan_words.h"
#include "runtime/stage_work.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/training_case.h"
#include "schedule/build_schedule.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Wiring;

constexpr int kFailing = 3;  // the last stage of replica 1

/// Fails in the last backward of step 1. The other replica waits for its gradients by then.
class FailsBeforeTheReduction : public ForwardingWork {
 public:
  using ForwardingWork::ForwardingWork;
  void beginStep(int step) override {
    step_ = step;
    ForwardingWork::beginStep(step);
  }
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    ForwardingWork::runBackward(stage, microBatch, messages);
    if (step_ != 1 || microBatch != 7) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    throw Error("the gradients are lost");
  }

 private:
  int step_ = 0;
};

TEST(ReplicaFailure, AReplicaThatFailsWhileAnotherWaitsForItsGradientsIsNamedByAll) {
  const CheckedPlan plan(withReplicas(buildSchedule("1F1B", 2, 4), 2));
  const auto train = [&](Transport& transport, ControlChannel& channel) {
    testing::OnDevice on{.control = &channel};
    if (transport.rank() == kFailing) {
      on.around = [](StageWork& inner) { return std::make_unique<FailsBeforeTheReduction>(inner); };
    }
    trainRank({.numStages = 2, .microBatches = 4}, plan, transport, {}, on);
  };
  for (const Wiring wiring : {Wiring::kInProcess, Wiring::kGloo}) {
    const auto errors = runControlled(wiring, plan->numRanks(),
                                      {.words = wordsOf(plan, ExecutorOptions{}.ahead)}, train);
    for (const std::string& error : errors) {
      EXPECT_THAT(error, AllOf(HasSubstr("rank 3 failed in "), HasSubstr(" of step 1 ("),
                               HasSubstr("the gradients are lost")));
    }
    EXPECT_THAT(errors[1],
                AllOf(HasSubstr("this rank, 1, was "),
                      HasSubstr("waiting for the sums of stage 1's gradients from rank 3")));
  }
}

}  // namespace
}  // namespace pipetrace
