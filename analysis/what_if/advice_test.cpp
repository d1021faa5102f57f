// Advice on runs of known costs, against all changes of these costs and plans: each is simulated by
// itself, without the run.
#include "analysis/what_if/advice.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/present/advice_report.h"
#include "analysis/run_summary.h"
#include "analysis/testing/loads_between_steps.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/compare/split_costs.h"
#include "schedule/scale/scale_option.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"
#include "trace/step_windows.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::int64_t kShare = 1'000'000;  // an activation of a whole share
constexpr double kCloseSteps = 1.02;        // of the error that predictions may have

/// A run is made of this.
struct Truth {
  std::string name;
  std::string schedule = "1F1B";
  int ranks = 4;
  int microBatches = 8;
  Costs costs;
  CommStreams lines = CommStreams::kAsReached;
  int steps = 5;
  double limit = 0;  // whole shares; 0: as the run
};

Costs evenCosts(int ranks, Nanoseconds transfer = kNsPerMs / 10) {
  Costs costs = Costs::equal(ranks, {10 * kNsPerMs, 20 * kNsPerMs});
  for (StageCosts& stage : costs.stages) {
    stage.backwardInput = 10 * kNsPerMs;
    stage.backwardWeight = 10 * kNsPerMs;
    stage.activation = kShare;
  }
  costs.transfer = transfer;
  return costs;
}

struct Simulated {
  Timeline timeline;
  double step = 0;
  double peak = 0;
};

Simulated simulated(Plan plan, const Costs& costs, CommStreams lines, int steps = 5,
                    bool isInTime = false) {
  if (isInTime) {
    plan = withMessagesInTime(CheckedPlan(std::move(plan)), costs);
  } else if (lines != CommStreams::kAsReached) {
    plan = withMessagesOfTorch(CheckedPlan(std::move(plan)));
  }
  Simulation simulation = simulate(
      CheckedPlan(std::move(plan)), costs,
      {.steps = steps, .begin = kNsPerMs, .stepsStartTogether = true, .commStreams = lines});
  Simulated result;
  for (const Simulation::Rank& rank : simulation.ranks) {
    result.peak = std::max(result.peak, static_cast<double>(rank.peakMemory) / kShare);
  }
  result.timeline = std::move(simulation.timeline);
  Diagnostics diagnostics;
  completeTimeline(result.timeline, diagnostics);
  double sum = 0;
  const std::vector<StepWindow> windows = stepWindows(result.timeline);
  for (const StepWindow& window : windows) sum += static_cast<double>(window.window());
  result.step = sum / static_cast<double>(windows.size());
  return result;
}

/// The shortest step of each kind of change, as far as the limit allows.
class BruteForce {
 public:
  explicit BruteForce(const Truth& truth) : truth_(truth) {
    const Simulated own = simulated(planOf(truth.schedule, 1), truth.costs, truth.lines);
    limit_ = truth.limit > 0 ? truth.limit : own.peak;
    own_ = own.step;
    schedules();
    microBatches();
    costsWith(Advice::Of::kBalance, [](Costs& costs) {
      Nanoseconds forward = 0;
      for (const StageCosts& stage : costs.stages) forward += stage.forward;
      forward /= static_cast<Nanoseconds>(costs.stages.size());
      for (StageCosts& stage : costs.stages) {
        stage.forward = forward;
        stage.backward = 2 * forward;
      }
    });
    costsWith(Advice::Of::kLink, [](Costs& costs) { costs.faults.links.clear(); });
    costsWith(Advice::Of::kLaunches, [](Costs& costs) {
      std::erase_if(costs.faults.jobs, [](const Faults::Job& job) { return job.late > 0; });
    });
    if (truth.lines != CommStreams::kAsReached) {
      take(Advice::Of::kMessageOrder,
           [&] { return simulated(planOf(truth.schedule, 1), truth.costs, truth.lines, 5, true); });
      take(Advice::Of::kMessageLines,
           [&] { return simulated(planOf(truth.schedule, 1), truth.costs, CommStreams::kEdge); });
    }
    if (truth.schedule == "1F1B") warmUps();
  }

  double own() const { return own_; }
  /// The shortest of all.
  std::pair<Advice::Of, double> best() const {
    return *std::min_element(steps_.begin(), steps_.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
  }

 private:
  Plan planOf(const std::string& schedule, int chunks) const {
    return buildSchedule(schedule, {truth_.ranks, truth_.microBatches, chunks});
  }
  void take(Advice::Of of, const std::function<Simulated()>& simulate, double batch = 1) {
    try {
      const Simulated found = simulate();
      if (found.peak > limit_ + 1e-6) return;
      const auto [known, isNew] = steps_.emplace(of, found.step / batch);
      if (!isNew) known->second = std::min(known->second, found.step / batch);
    } catch (const Error&) {
      // The schedule has no such size, or its messages wait for each other.
    }
  }
  /// The mean of both steps, where nobody knows whether messages wait for each other.
  Simulated inEitherOrder(const Plan& plan, const Costs& costs) const {
    Simulated found = simulated(plan, costs, truth_.lines);
    if (truth_.lines != CommStreams::kAsReached) return found;
    try {
      found.step = (found.step + simulated(plan, costs, CommStreams::kRank).step) / 2;
    } catch (const Error&) {
      // Its messages wait for each other in that order.
    }
    return found;
  }
  void schedules() {
    for (const ScheduleInfo& info : knownSchedules()) {
      if (info.isAsynchronous || info.isForwardOnly) continue;
      for (int chunks = std::max(info.leastChunks, 1); chunks <= std::min(info.mostChunks, 4);
           ++chunks) {
        Costs costs = splitOverChunks(truth_.costs, chunks, true);
        costs.faults = truth_.costs.faults;
        if (!costs.faults.jobs.empty()) continue;  // they are of jobs that this plan lacks
        take(Advice::Of::kSchedule, [&, chunks = chunks] {
          const AutoInput input{costs, std::llround(limit_ * kShare)};
          const PlanSize size{truth_.ranks, truth_.microBatches, chunks};
          return inEitherOrder(buildSchedule(info.name, size, input), costs);
        });
      }
    }
  }
  void microBatches() {
    for (const double times : {2.0, 4.0, 0.5}) {
      Costs costs = truth_.costs;
      if (!costs.faults.jobs.empty()) return;
      for (StageCosts& stage : costs.stages) {
        for (Nanoseconds* time : {&stage.forward, &stage.backward, &stage.backwardInput,
                                  &stage.backwardWeight, &stage.activation}) {
          *time = static_cast<Nanoseconds>(static_cast<double>(*time) / times);
        }
      }
      take(Advice::Of::kMicroBatches, [&] {
        return simulated(
            buildSchedule(truth_.schedule,
                          {truth_.ranks, static_cast<int>(truth_.microBatches * times), 1}),
            costs, truth_.lines);
      });
    }
  }
  void costsWith(Advice::Of of, const std::function<void(Costs&)>& change) {
    Costs costs = truth_.costs;
    change(costs);
    take(of, [&] { return simulated(planOf(truth_.schedule, 1), costs, truth_.lines); });
  }
  /// All depths that do not rise with the rank.
  void warmUps() {
    std::vector<std::vector<int>> ranks;
    for (int rank = 0; rank < truth_.ranks; ++rank) ranks.push_back({rank});
    std::vector<int> depths(ranks.size());
    const std::function<void(std::size_t)> choose = [&](std::size_t rank) {
      if (rank == depths.size()) {
        take(Advice::Of::kWarmUp, [&] {
          return simulated(buildOnStageRanks("1F1B", ranks, truth_.microBatches, depths),
                           truth_.costs, truth_.lines, 1);
        });
        return;
      }
      const int most = rank == 0 ? static_cast<int>(limit_) : depths[rank - 1];
      for (int depth = 0; depth <= most; ++depth) {
        depths[rank] = depth;
        choose(rank + 1);
      }
    };
    choose(0);
  }

  const Truth& truth_;
  double limit_ = 0;
  double own_ = 0;
  std::map<Advice::Of, double> steps_;
};

AdviceList adviceFor(const Truth& truth) {
  const Simulated run =
      simulated(buildSchedule(truth.schedule, {truth.ranks, truth.microBatches, 1}), truth.costs,
                truth.lines, truth.steps);
  AdviceQuestion question;
  if (truth.limit > 0) question.activationLimit = truth.limit;
  return adviceOn(asRun(run.timeline), question);
}

Truth withSlowStage(int microBatches, Nanoseconds forward) {
  Truth truth{.name = "SlowStage" + std::to_string(microBatches),
              .microBatches = microBatches,
              .costs = evenCosts(4)};
  truth.costs.stages[1] = {.forward = forward,
                           .backward = 2 * forward,
                           .backwardInput = forward,
                           .backwardWeight = forward,
                           .activation = kShare};
  return truth;
}

Truth withSlowLink(Nanoseconds transfer, double limit) {
  Truth truth{.name = "SlowLink" + std::to_string(transfer / kNsPerMs) + "Limit" +
                      std::to_string(static_cast<int>(limit)),
              .microBatches = 12,
              .costs = evenCosts(4),
              .limit = limit};
  truth.costs.faults.links.push_back({.rank = 1, .peer = 2, .transfer = transfer});
  return truth;
}

Truth withFewMicroBatches(int microBatches) {
  return {.name = "FewMicroBatches" + std::to_string(microBatches),
          .microBatches = microBatches,
          .costs = evenCosts(4)};
}

Truth withTightMemory(const std::string& name, int microBatches, double limit) {
  return {.name = "TightMemory" + std::to_string(microBatches) + "Of" + name,
          .schedule = name,
          .microBatches = microBatches,
          .costs = evenCosts(4),
          .limit = limit};
}

Truth withMessagesInLine(Nanoseconds transfer, CommStreams lines) {
  return {.name = "InLine" + std::to_string(transfer / kNsPerMs) +
                  (lines == CommStreams::kRank ? "OfRank" : "OfPeer"),
          .costs = evenCosts(4, transfer),
          .lines = lines};
}

Nanoseconds meanStepOf(const Advice& advice) {
  return advice.inLine ? (advice.step + advice.inLine->step) / 2 : advice.step;
}

class AdviceOnMadeUpRuns : public testing::TestWithParam<Truth> {};

TEST_P(AdviceOnMadeUpRuns, TheBestOfAllChangesIsAmongIt) {
  const AdviceList list = adviceFor(GetParam());
  const BruteForce all(GetParam());
  const auto [of, step] = all.best();
  ASSERT_LT(step, all.own() * (1 - AdviceList::kLeastGain)) << "something is to be gained";
  bool isThere = false;
  for (const Advice& advice : list.best) {
    const auto found = static_cast<double>(meanStepOf(advice));
    isThere = isThere || found <= step * kCloseSteps;
    if (advice.of != of) continue;
    EXPECT_NEAR(found / step, 1, kCloseSteps - 1) << advice.what;
  }
  EXPECT_TRUE(isThere) << adviceText(list) << "the best takes " << step << " ns, of kind "
                       << static_cast<int>(of);
  ASSERT_TRUE(list.modelError);
  EXPECT_NEAR(*list.modelError, 0, 0.001);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, AdviceOnMadeUpRuns,
    testing::Values(withSlowStage(8, 16 * kNsPerMs), withSlowStage(16, 13 * kNsPerMs),
                    withSlowStage(32, 20 * kNsPerMs), withSlowLink(10 * kNsPerMs, 0),
                    withSlowLink(20 * kNsPerMs, 8), withSlowLink(40 * kNsPerMs, 6),
                    withFewMicroBatches(4), withFewMicroBatches(5), withFewMicroBatches(6),
                    withTightMemory("1F1B", 8, 2.5), withTightMemory("1F1B", 16, 4),
                    withTightMemory("FThenB", 6, 3),
                    withMessagesInLine(3 * kNsPerMs, CommStreams::kRank),
                    withMessagesInLine(5 * kNsPerMs, CommStreams::kPeer),
                    withMessagesInLine(2 * kNsPerMs, CommStreams::kPeer)),
    [](const auto& info) { return info.param.name; });

/// Two replicas of 1F1B, and the jobs of a rank of one take `factor` times as long.
Timeline withStraggler(int rank, double factor, Costs costs) {
  const Plan plan = withReplicas(buildSchedule("1F1B", {4, 8}), 2);
  for (StageCosts& stage : costs.stages) stage.reduction = kNsPerMs;
  if (factor != 1) {
    const ScaleOption scale =
        parseScale("rank=" + std::to_string(rank) + ":" + std::to_string(factor));
    applyScales(std::vector{scale}, plan, costs);
  }
  return simulated(plan, costs, CommStreams::kAsReached).timeline;
}

Nanoseconds windowOf(const Timeline& timeline) { return stepWindows(timeline)[2].window(); }

TEST(AdviceOnFreeMessages, SaysHowLongTheScheduleTakesWithMessagesInTorchsOrder) {
  const Costs costs = evenCosts(4, 3 * kNsPerMs);
  const Plan plan = buildSchedule("1F1B", {4, 8});
  const AdviceList list = adviceOn(asRun(simulated(plan, costs, CommStreams::kAsReached).timeline),
                                   {.activationLimit = 8});
  const auto found = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
    return each.of == Advice::Of::kSchedule;
  });
  ASSERT_NE(found, list.best.end()) << adviceText(list);
  EXPECT_THAT(found->command, HasSubstr("--schedule ZB-H2 --chunks 1"));
  ASSERT_TRUE(found->inLine);
  const Plan other = buildSchedule("ZB-H2", {4, 8});
  EXPECT_EQ(found->step, std::llround(simulated(other, costs, CommStreams::kAsReached).step));
  EXPECT_EQ(found->inLine->step, std::llround(simulated(other, costs, CommStreams::kRank).step));
  EXPECT_TRUE(found->dependsOnOrder());
  EXPECT_THAT(adviceText(list), HasSubstr("if its messages wait for no others; " +
                                          formatDuration(found->inLine->step)));
}

TEST(AdviceOnStragglers, ARankThatIsSlowerThanItsPeersIsNamedWithWhatItCosts) {
  for (const auto& [rank, factor] : {std::pair{5, 1.5}, std::pair{0, 1.3}, std::pair{6, 2.0}}) {
    const AdviceList list = adviceOn(asRun(withStraggler(rank, factor, evenCosts(4))), {});
    const auto found = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
      return each.of == Advice::Of::kRank;
    });
    ASSERT_NE(found, list.best.end()) << adviceText(list);
    EXPECT_THAT(found->what, StartsWith("make rank " + std::to_string(rank) + ", whose jobs"));
    const auto healed = static_cast<double>(windowOf(withStraggler(rank, 1, evenCosts(4))));
    EXPECT_NEAR(static_cast<double>(found->step) / healed, 1, 0.01);
  }
}

TEST(AdviceOnUnevenMicroBatches, IsToGiveAllAsManyTokens) {
  for (const int seed : {1, 2}) {
    Truth truth{.costs = evenCosts(4), .steps = 6};
    unsigned state = static_cast<unsigned>(seed);
    Nanoseconds sum = 0;
    for (int step = 0; step < truth.steps; ++step) {
      for (int m = 0; m < truth.microBatches; ++m) {
        state = state * 1'103'515'245 + 12'345;
        const Nanoseconds longer = static_cast<Nanoseconds>(state >> 16) % 100 * kNsPerMs / 10;
        sum += longer;
        for (int stage = 0; stage < 4; ++stage) {
          truth.costs.faults.jobs.push_back({{JobKind::kForward, stage, m}, step, longer, 0});
          truth.costs.faults.jobs.push_back({{JobKind::kBackward, stage, m}, step, 2 * longer, 0});
        }
      }
    }
    const AdviceList list = adviceFor(truth);
    const auto found = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
      return each.of == Advice::Of::kLengths;
    });
    ASSERT_NE(found, list.best.end()) << adviceText(list);
    // 1F1B of even jobs: (m + p - 1) times a forward and a backward, and the transfers of the fill.
    const double mean =
        10.0 * kNsPerMs + static_cast<double>(sum) / (truth.steps * truth.microBatches);
    EXPECT_NEAR(static_cast<double>(found->step), 11 * 3 * mean, 0.03 * 33 * mean);
  }
}

TEST(AdviceOnPauses, AtDifferentStepsIsToCollectGarbageTogether) {
  for (const Nanoseconds length : {40 * kNsPerMs, 90 * kNsPerMs}) {
    Truth truth{.costs = evenCosts(4), .steps = 13};
    for (int step = 1; step < truth.steps; ++step) {
      const int rank = step % 4;
      truth.costs.faults.jobs.push_back({{JobKind::kForward, rank, 1 + rank}, step, length, 0});
    }
    const AdviceList list = adviceFor(truth);
    ASSERT_THAT(list.best, Contains(Field(&Advice::of, Advice::Of::kPauses))) << adviceText(list);
    const double even =
        simulated(buildSchedule("1F1B", {4, 8}), evenCosts(4), CommStreams::kAsReached).step;
    const double measured =
        simulated(buildSchedule("1F1B", {4, 8}), truth.costs, CommStreams::kAsReached, 13).step;
    for (const Advice& advice : list.best) {
      if (advice.of != Advice::Of::kPauses) continue;
      // 12 pauses of four ranks become three.
      EXPECT_NEAR(advice.gain, 1 - (even + 3.0 * static_cast<double>(length) / 13) / measured,
                  0.01);
    }
  }
}

TEST(AdviceOnRuns, LargeChangesAreLeftOutAndCountedWhereFewJobsMayBeSimulated) {
  const auto run = simulated(buildSchedule("1F1B", {4, 8}), evenCosts(4), CommStreams::kAsReached);
  const AdviceList all = adviceOn(asRun(run.timeline), {});
  const AdviceList few = adviceOn(asRun(run.timeline), {.mostJobs = 500, .logs = "LOGS"});
  const auto says = HasSubstr("not tried, as the run is large: pipe-trace advise LOGS tries all");
  EXPECT_THAT(few.notes, Contains(says));
  EXPECT_THAT(all.notes, testing::Not(Contains(says)));
  EXPECT_LT(few.tried, all.tried);
}

TEST(AdviceOnRuns, ThatGainNothingSaysSo) {
  const AdviceList list =
      adviceFor({.schedule = "1F1B", .ranks = 2, .microBatches = 64, .costs = evenCosts(2, 0)});
  EXPECT_THAT(list.best, IsEmpty());
  EXPECT_THAT(firstAdvice(list), StartsWith("nothing gains more than 2 % ("));
}

TEST(AdviceOnRuns, ThatAreAsynchronousIsOfTheRunItself) {
  Costs costs = withSlowStage(8, 16 * kNsPerMs).costs;
  costs.optimizer = kNsPerMs;  // updates between the jobs of a step
  const AdviceList list =
      adviceOn(asRun(simulated(buildSchedule("PipeDream", {4, 16}), costs, {}).timeline), {});
  EXPECT_THAT(list.notes, Contains(HasSubstr("other plans were not simulated: the run is asyn")));
  for (const Advice& advice : list.best) EXPECT_FALSE(advice.isByModel) << advice.what;
  EXPECT_THAT(adviceText(list), StartsWith("the run takes "));
  EXPECT_THAT(adviceText(list), HasSubstr(" equally long: the run takes "));
}

TEST(AdviceOnPauses, DataLoadersComeFirstWhereStepsWaitForThemAndGainsAreOfTheWallTime) {
  constexpr Nanoseconds kLoad = 200 * kNsPerMs;
  Timeline timeline =
      withLoadsBetweenSteps(simulate(CheckedPlan(buildSchedule("1F1B", 4, 8)), evenCosts(4),
                                     {.steps = 5, .begin = kNsPerMs, .stepsStartTogether = true})
                                .timeline,
                            kLoad);
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  const AdviceList list = adviceOn(asRun(timeline), {});
  ASSERT_TRUE(list.wall);
  EXPECT_EQ(*list.wall - list.step, kLoad);
  ASSERT_FALSE(list.best.empty());
  const Advice& first = list.best.front();
  EXPECT_EQ(first.of, Advice::Of::kData);
  EXPECT_EQ(first.step, list.step);
  const auto wall = static_cast<double>(*list.wall);
  EXPECT_NEAR(first.gain, static_cast<double>(kLoad) / wall, 1e-9);
  const auto schedule = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
    return each.of == Advice::Of::kSchedule;
  });
  ASSERT_NE(schedule, list.best.end());
  EXPECT_GT(schedule->step, kLoad) << "the pause stays";
  EXPECT_NEAR(static_cast<double>(schedule->step), wall * (1 - schedule->gain), 1);
  EXPECT_THAT(adviceText(list), HasSubstr(" of wall time, "));
}

}  // namespace
}  // namespace pipetrace
