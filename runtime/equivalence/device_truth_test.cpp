// Training on a device with streams gives the bits of one process on the CPU, under every schedule.
// The test device finds each wait that is missing.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/executor.h"
#include "runtime/stage_work.h"
#include "runtime/testing/device/test_programs.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/schedule_names.h"
#include "runtime/testing/training_case.h"
#include "schedule/build_schedule.h"
#include "schedule/with_recompute.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using testing::CaseModel;
using ::testing::Each;
using testing::firstDifference;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::RankResult;
using testing::TrainingCase;

enum class Devices { kShared, kOneEach };

/// Trains as threads; ranks have a device each, or share one.
std::vector<RankResult> train(const TrainingCase& training, const CheckedPlan& plan,
                              Devices devices, bool readsGradients = true,
                              testing::Wiring wiring = testing::Wiring::kInProcess) {
  std::vector<RankResult> results(plan->ranks.size());
  const auto errors = runConnected(wiring, plan->numRanks(), [&](Transport& transport) {
    const int index = devices == Devices::kShared ? 0 : transport.rank();
    RankDevice device(testDevice(index), usualJobsAhead(*plan));
    results[static_cast<std::size_t>(transport.rank())] = trainRank(
        training, plan, transport, {}, {.device = &device, .readsGradients = readsGradients});
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  return results;
}

using DeviceTruth = testing::FaultlessDeviceTest;

class EveryScheduleOnADevice : public DeviceTruth,
                               public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryScheduleOnADevice, HasTheBitsOfOneProcessOnTheCpu) {
  const CheckedPlan plan = buildSchedule(GetParam(), 4, 8);
  const TrainingCase training{.numStages = plan->numStages, .steps = 2};
  EXPECT_EQ(firstDifference(train(training, plan, Devices::kShared), trainAlone(training, *plan)),
            "");
}

INSTANTIATE_TEST_SUITE_P(All, EveryScheduleOnADevice,
                         ::testing::ValuesIn(testing::synchronousSchedules()),
                         [](const auto& test) { return testing::asTestName(test.param); });

TEST_F(DeviceTruth, ARichModelWithDropoutTiesAndRecomputedBlocksHasThem) {
  for (const double recompute : {0.0, 0.6}) {
    const TrainingCase training{
        .rows = 16, .steps = 2, .model = CaseModel::kRich, .recompute = recompute};
    const std::vector<bool> again(4, recompute > 0);
    const CheckedPlan plan = withRecompute(buildSchedule("1F1B", 4, 8), again);
    EXPECT_EQ(firstDifference(train(training, plan, Devices::kShared), trainAlone(training, *plan)),
              "");
  }
}

TEST_F(DeviceTruth, MixedPrecisionHasTheBitsOfOneProcessUnderAutocastOnTheCpu) {
  for (const char* const name : {"1F1B", "ZB-H1", "DualPipe"}) {
    const CheckedPlan plan = buildSchedule(name, 4, 8);
    TrainingCase training{.numStages = plan->numStages,
                          .rows = 16,
                          .steps = 2,
                          .model = CaseModel::kRich,
                          .recompute = 0.6,
                          .precision = Precision::kBf16};
    EXPECT_EQ(firstDifference(train(training, plan, Devices::kShared), trainAlone(training, *plan)),
              "")
        << name;
    training.precision = Precision::kFp16;
    training.lossScale = 512;
    training.clipNorm = 0.5;
    EXPECT_EQ(
        firstDifference(train(training, plan, Devices::kOneEach, true, testing::Wiring::kGloo),
                        trainAlone(training, *plan)),
        "")
        << name;
  }
}

TEST_F(DeviceTruth, ATrainingThatIsLookedAtHasThemAndShowsWhatTheCpuShows) {
  const CheckedPlan plan = buildSchedule("ZBV", 2, 4);
  const TrainingCase training{.numStages = plan->numStages, .microBatches = 4, .steps = 2};
  std::vector<RankResult> results(plan->ranks.size());
  std::vector<std::vector<double>> seen(2);  // on the device, on the CPU
  for (const bool onDevice : {true, false}) {
    const auto errors =
        runConnected(testing::Wiring::kInProcess, plan->numRanks(), [&](Transport& transport) {
          std::optional<RankDevice> device;
          if (onDevice) device.emplace(testDevice(transport.rank()), usualJobsAhead(*plan));
          const auto look = [&](const StepInspection& step) {
            if (transport.rank() != 0) return;
            std::vector<double>& all = seen[onDevice ? 0 : 1];
            for (const SentTensor& sent : step.sent) {
              all.insert(all.end(), {sent.figures->mean, sent.figures->deviation,
                                     sent.figures->least, sent.figures->greatest});
            }
            for (const GradientNorm& one : step.gradients) all.push_back(one.after.value());
          };
          RankResult result = trainRank(
              training, plan, transport, {},
              {.device = device ? &*device : nullptr, .inspectEvery = 1, .inspected = look});
          if (onDevice) results[static_cast<std::size_t>(transport.rank())] = std::move(result);
        });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
  EXPECT_EQ(firstDifference(results, trainAlone(training, *plan)), "");
  EXPECT_EQ(seen[0], seen[1]);
}

TEST_F(DeviceTruth, RanksOnDevicesOfTheirOwnHaveThem) {
  const CheckedPlan plan = buildSchedule("Interleaved1F1B", 4, 8);
  const TrainingCase training{.numStages = plan->numStages, .steps = 2};
  EXPECT_EQ(firstDifference(train(training, plan, Devices::kOneEach), trainAlone(training, *plan)),
            "");
}

TEST_F(DeviceTruth, ReplicasHaveThem) {
  for (const char* const name : {"1F1B", "ZBV", "DualPipe"}) {
    const CheckedPlan plan(withReplicas(buildSchedule(name, 2, 4), 2));
    const TrainingCase training{.numStages = plan->numStages, .microBatches = 4, .steps = 2};
    const auto alone = trainAlone(training, *plan);
    for (const auto wiring : {testing::Wiring::kInProcess, testing::Wiring::kGloo}) {
      EXPECT_EQ(firstDifference(train(training, plan, Devices::kOneEach, true, wiring), alone), "")
          << name;
    }
  }
}

TEST_F(DeviceTruth, OverGlooMessagesGoThroughPinnedMemoryWithTheSameBits) {
  for (const char* const name : {"1F1B", "InterleavedZeroBubble", "DualPipe"}) {
    const CheckedPlan plan = buildSchedule(name, 4, 8);
    const TrainingCase training{.numStages = plan->numStages, .steps = 2};
    EXPECT_EQ(
        firstDifference(train(training, plan, Devices::kOneEach, true, testing::Wiring::kGloo),
                        trainAlone(training, *plan)),
        "")
        << name;
  }
  const TrainingCase rich{.rows = 16, .steps = 2, .model = CaseModel::kRich};
  const CheckedPlan plan = buildSchedule("1F1B", 4, 8);
  EXPECT_EQ(firstDifference(train(rich, plan, Devices::kOneEach, true, testing::Wiring::kGloo),
                            trainAlone(rich, *plan)),
            "");
}

TEST_F(DeviceTruth, PlansWithoutAFlushHaveTheBitsOfThreadsOnTheCpu) {
  for (const char* const name : {"PipeDream", "PipeDream-2BW"}) {
    const CheckedPlan plan = buildSchedule(name, 4, 8);
    const TrainingCase training{.steps = 2};
    std::vector<RankResult> onCpu(plan->ranks.size());
    runConnected(testing::Wiring::kInProcess, plan->numRanks(), [&](Transport& transport) {
      onCpu[static_cast<std::size_t>(transport.rank())] = trainRank(training, plan, transport);
    });
    EXPECT_EQ(firstDifference(train(training, plan, Devices::kShared), onCpu), "") << name;
  }
}

/// Counts the host's waits from lr to optimizer.
class CountedWork : public ForwardingWork {
 public:
  CountedWork(StageWork& inner, HostWaits& waits) : ForwardingWork(inner), waits_(waits) {}
  void lr(int step) override {
    ForwardingWork::lr(step);
    before_ = hostWaitsOf(std::this_thread::get_id());
  }
  void optimizerStep() override {
    ForwardingWork::optimizerStep();
    const HostWaits now = hostWaitsOf(std::this_thread::get_id());
    waits_.events += now.events - before_.events;
    waits_.streams += now.streams - before_.streams;
    waits_.devices += now.devices - before_.devices;
    waits_.copies += now.copies - before_.copies;
  }

 private:
  HostWaits& waits_;
  HostWaits before_;
};

std::vector<HostWaits> waitsOfRanks(const CheckedPlan& plan, const TrainingCase& training,
                                    int ahead, int inspectEvery = 0) {
  std::vector<HostWaits> waits(plan->ranks.size());
  const auto errors =
      runConnected(testing::Wiring::kInProcess, plan->numRanks(), [&](Transport& transport) {
        RankDevice device(testDevice(), ahead);
        const auto around = [&](StageWork& inner) {
          return std::make_unique<CountedWork>(inner,
                                               waits[static_cast<std::size_t>(transport.rank())]);
        };
        trainRank(
            training, plan, transport, {},
            {.device = &device,
             .around = around,
             .inspectEvery = inspectEvery,
             .inspected = [](const StepInspection& step) { EXPECT_FALSE(step.sent.empty()); }});
      });
  EXPECT_THAT(errors, Each(IsEmpty()));
  return waits;
}

// Also where two copies of a stage add up their gradients, and where parameters are tied.
TEST_F(DeviceTruth, NobodyWaitsForTheDeviceWithinAStepWhereThereIsRoom) {
  for (const char* const name : {"1F1B", "ZBV", "DualPipe"}) {
    const CheckedPlan plan = buildSchedule(name, 4, 8);
    for (const HostWaits& waits :
         waitsOfRanks(plan, {.numStages = plan->numStages, .steps = 2}, 1000)) {
      EXPECT_EQ(waits.total(), 0) << name;
    }
  }
  const TrainingCase rich{.rows = 16, .steps = 2, .model = CaseModel::kRich};
  for (const HostWaits& waits : waitsOfRanks(buildSchedule("1F1B", 4, 8), rich, 1000)) {
    EXPECT_EQ(waits.total(), 0);
  }
  const TrainingCase scaled{.steps = 2, .precision = Precision::kFp16, .lossScale = 512};
  for (const HostWaits& waits : waitsOfRanks(buildSchedule("1F1B", 4, 8), scaled, 1000)) {
    EXPECT_EQ(waits.total(), scaled.steps) << "ranks agree on each step";
  }
  for (const HostWaits& waits : waitsOfRanks(buildSchedule("1F1B", 4, 8), {.steps = 2}, 1000, 1)) {
    EXPECT_EQ(waits.total(), 0) << "where each step is inspected";
  }
}

TEST_F(DeviceTruth, TheHostWaitsForRoomAlone) {
  for (const HostWaits& waits : waitsOfRanks(buildSchedule("1F1B", 4, 8), {.steps = 1}, 4)) {
    EXPECT_EQ(waits.events, 2 * 8 - 4);
    EXPECT_EQ(waits.total(), waits.events);
  }
}

// A check on a GPU counts on that.
TEST_F(DeviceTruth, TheHostWaitsOnceForEachJobBeyondItsLead) {
  for (const char* const name : {"1F1B", "Interleaved1F1B", "ZB-H1", "ZBV", "DualPipe"}) {
    const CheckedPlan plan = buildSchedule(name, 4, 8);
    const int ahead = usualJobsAhead(*plan);
    const TrainingCase training{.numStages = plan->numStages, .steps = 2};
    const std::vector<HostWaits> waits = waitsOfRanks(plan, training, ahead);
    for (std::size_t rank = 0; rank < waits.size(); ++rank) {
      const std::vector<Action>& actions = plan->ranks[rank];
      const auto jobs = std::count_if(actions.begin(), actions.end(),
                                      [](const Action& action) { return isCompute(action.kind); });
      EXPECT_EQ(waits[rank].events, training.steps * jobs - ahead) << name << " " << rank;
      EXPECT_EQ(waits[rank].total(), waits[rank].events);
    }
  }
}

/// Leaves out one thing that keeps streams and memory in order, while it lives.
class LeftOut {
 public:
  explicit LeftOut(RankDevice::Order one) { RankDevice::leaveOut(one); }
  ~LeftOut() { RankDevice::leaveOut(RankDevice::Order::kAll); }
  LeftOut(const LeftOut&) = delete;
  LeftOut& operator=(const LeftOut&) = delete;
};

std::vector<std::string> findingsWithout(RankDevice::Order one, Devices devices) {
  const LeftOut without(one);
  // A rank that reads its gradients waits for its device then.
  train({.steps = 2}, buildSchedule("1F1B", 4, 8), devices, /*readsGradients=*/false);
  return takeTestDeviceFindings();
}

TEST_F(DeviceTruth, EachWaitThatIsLeftOutIsMissed) {
  using enum RankDevice::Order;
  EXPECT_THAT(findingsWithout(kAll, Devices::kShared), IsEmpty());
  EXPECT_THAT(findingsWithout(kMessage, Devices::kShared), Not(IsEmpty()));
  EXPECT_THAT(findingsWithout(kMessageMemory, Devices::kShared), Not(IsEmpty()));
  EXPECT_THAT(findingsWithout(kBatch, Devices::kShared), Not(IsEmpty()));
  EXPECT_THAT(findingsWithout(kBatchMemory, Devices::kShared), Not(IsEmpty()));
}

/// Over Gloo. The messages are wrong where the host does not wait, as it reads them by pointers.
std::string faultOverGlooWithout(RankDevice::Order one) {
  const LeftOut without(one);
  const TrainingCase training{.steps = 1};
  const CheckedPlan plan = buildSchedule("1F1B", 4, 8);
  const std::string difference =
      firstDifference(train(training, plan, Devices::kOneEach, true, testing::Wiring::kGloo),
                      trainAlone(training, *plan));
  const std::vector<std::string> findings = takeTestDeviceFindings();
  return findings.empty() ? difference : findings.front();
}

TEST_F(DeviceTruth, EachWaitOfMessagesThatGoThroughTheHostIsMissed) {
  using enum RankDevice::Order;
  EXPECT_EQ(faultOverGlooWithout(kAll), "");
  for (const RankDevice::Order one : {kToHost, kToHostMemory, kOnHost, kToDevice}) {
    EXPECT_NE(faultOverGlooWithout(one), "") << static_cast<int>(one);
  }
}

TEST_F(DeviceTruth, EachWaitBetweenDevicesThatIsLeftOutIsMissed) {
  using enum RankDevice::Order;
  EXPECT_THAT(findingsWithout(kAll, Devices::kOneEach), IsEmpty());
  EXPECT_THAT(findingsWithout(kMessage, Devices::kOneEach), Not(IsEmpty()));
  EXPECT_THAT(findingsWithout(kMessageMemory, Devices::kOneEach), Not(IsEmpty()));
  EXPECT_THAT(findingsWithout(kCopy, Devices::kOneEach), Not(IsEmpty()));
  EXPECT_THAT(findingsWithout(kCopyMemory, Devices::kOneEach), Not(IsEmpty()));
}

}  // namespace
}  // namespace pipetrace
