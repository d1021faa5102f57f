// A replica that fails while gradients are added up ends the run for all, and all name it.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/executor.h"
#include "runtime/forwarding_work.h"
#include "runtime/launch/local_port.h"
#include "runtime/program/plan_words.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/training_case.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/in_process.h"
#include "schedule/build_schedule.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Wiring;

constexpr int kFailing = 3;  // the last stage of replica 1

/// Fails in step 1, when its gradients are to leave. The others wait for them by then.
class FailsInTheReduction : public ForwardingWork {
 public:
  using ForwardingWork::ForwardingWork;
  void beginStep(int step) override {
    step_ = step;
    ForwardingWork::beginStep(step);
  }
  Message sumsOf(int stage) override {
    if (step_ == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      throw Error("the gradients are lost");
    }
    return ForwardingWork::sumsOf(stage);
  }

 private:
  int step_ = 0;
};

std::vector<std::string> errorsOfReplicas(Wiring wiring) {
  const CheckedPlan plan(withReplicas(buildSchedule("1F1B", 2, 4), 2));
  const int ranks = plan->numRanks();
  ControlOptions control{.words = wordsOf(plan, ExecutorOptions{}.ahead)};
  control.exitDelay = 60 * kNsPerSecond;  // this process is to live on
  const auto train = [&](Transport& transport, ControlChannel& channel) {
    testing::OnDevice on{.control = &channel};
    if (transport.rank() == kFailing) {
      on.around = [](StageWork& inner) { return std::make_unique<FailsInTheReduction>(inner); };
    }
    trainRank({.numStages = 2, .microBatches = 4}, plan, transport, {}, on);
  };
  if (wiring == Wiring::kGloo) {
    const LocalPort port;
    return testing::runRanks(ranks, [&](int rank) {
      const GlooRun connected = connectGlooRun({.env = {.rank = rank,
                                                        .localRank = rank,
                                                        .worldSize = ranks,
                                                        .masterAddr = "127.0.0.1",
                                                        .masterPort = port.number(),
                                                        .attempt = "0"}},
                                               control, {{"seed", "1"}});
      train(*connected.transport, *connected.control);
    });
  }
  InProcessHub hub(ranks);
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<Transport*> pointers;
  for (int rank = 0; rank < ranks; ++rank) {
    pointers.push_back(transports.emplace_back(hub.connect(rank)).get());
  }
  const auto channels = controlInProcess(control, pointers);
  return testing::runRanks(ranks, [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    train(*transports[i], *channels[i]);
  });
}

TEST(ReplicaFailure, AReplicaThatFailsInTheReductionIsNamedByAllAndOthersSayForWhomTheyWait) {
  for (const Wiring wiring : {Wiring::kInProcess, Wiring::kGloo}) {
    const auto errors = errorsOfReplicas(wiring);
    for (const std::string& error : errors) {
      EXPECT_THAT(error, AllOf(HasSubstr("rank 3 failed in "), HasSubstr(" of step 1 ("),
                               HasSubstr("the gradients are lost")));
    }
    EXPECT_THAT(errors[1], AllOf(HasSubstr("this rank, 1, was "),
                                 HasSubstr("waiting for the gradients of the same weights in step "
                                           "1 from rank 3")));
  }
}

}  // namespace
}  // namespace pipetrace
