#include "schedule/with_reductions.h"

#include <gmock/gmock.h>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/paddle_job_list.h"
#include "schedule/file/schedule_cell.h"
#include "schedule/file/schedule_file.h"
#include "schedule/fingerprint.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/plan_texts.h"
#include "schedule/testing/random_plans.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"
#include "trace/log/write_job_logs.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;

/// The plan with data-parallel cells between its own, also of stages that it does not have.
Plan withCells(Plan plan, test::RandomPlans& random) {
  constexpr JobKind kKinds[] = {JobKind::kAllGather, JobKind::kReshard, JobKind::kReduceScatter};
  for (auto& row : plan.ranks) {
    for (int count = random.below(8); count > 0; --count) {
      const int at = random.below(static_cast<int>(row.size()) + 1);
      const int microBatch = random.below(4) == 0 ? random.below(20) : -1;
      const Action cell{kKinds[random.below(3)], random.below(plan.numStages + 2), microBatch};
      row.insert(row.begin() + at, cell);
    }
  }
  return plan;
}

Costs someCosts(const Plan& plan, test::RandomPlans& random) {
  Costs costs;
  for (int stage = 0; stage < plan.numStages; ++stage) {
    const Nanoseconds half = 1 + random.below(5);
    costs.stages.push_back({.forward = 1 + random.below(5),
                            .backward = 2 * half,
                            .backwardInput = half,
                            .backwardWeight = half,
                            .recompute = random.below(4),
                            .activation = 10,
                            .freedByInput = 4,
                            .recomputed = 6,
                            .message = 1 + random.below(9)});
  }
  costs.transfer = random.below(4);
  costs.lr = random.below(2);
  costs.optimizer = random.below(3);
  if (random.below(2) == 0) costs.bandwidth = 1e9;
  return costs;
}

void expectSameRun(const Simulation& with, const Simulation& without) {
  EXPECT_EQ(with.length, without.length);
  for (int rank = 0; rank < static_cast<int>(without.ranks.size()); ++rank) {
    EXPECT_EQ(jobLogText(with.timeline, rank), jobLogText(without.timeline, rank));
  }
  ASSERT_EQ(with.criticalPath.links.size(), without.criticalPath.links.size());
  for (std::size_t i = 0; i < with.criticalPath.links.size(); ++i) {
    const CriticalPath::Link& a = with.criticalPath.links[i];
    const CriticalPath::Link& b = without.criticalPath.links[i];
    EXPECT_EQ(std::tuple(a.text, a.rank, a.peer, a.begin, a.end, a.reason),
              std::tuple(b.text, b.rank, b.peer, b.begin, b.end, b.reason));
  }
}

/// Those of the plan's own cells.
DryRun ofOwnCells(DryRun run, const Plan& plan) {
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    DryRun::Rank& rank = run.ranks[r];
    for (std::size_t i = plan.ranks[r].size(); i-- > 0;) {
      if (!isDataParallel(plan.ranks[r][i].kind)) continue;
      EXPECT_EQ(rank.begin[i], rank.end[i]);
      rank.begin.erase(rank.begin.begin() + static_cast<std::ptrdiff_t>(i));
      rank.end.erase(rank.end.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return run;
}

class DataParallelCells : public ::testing::TestWithParam<unsigned> {
 protected:
  /// A plan that can run: of one of several forms.
  Plan somePlan() {
    if (random_.below(4) == 0) {
      const char* const names[] = {"PipeDream", "PipeDream-2BW", "DualPipe", "ZBV", "1F1B"};
      Plan plan = buildSchedule(names[random_.below(5)], 2 * (1 + random_.below(2)), 8);
      if (random_.below(2) == 0) plan.credits = 1 + random_.below(3);
      if (plan.credits > 0 && !check(plan).empty()) plan.credits = 0;
      return random_.below(2) == 0 ? plan : addTransfers(std::move(plan));
    }
    Plan plan = random_.below(4) == 0 ? random_.forwardOnly() : random_.any();
    if (!check(plan).empty()) plan.credits = 0;
    return plan;
  }

  test::RandomPlans random_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, DataParallelCells, ::testing::Range(1U, 151U));

TEST_P(DataParallelCells, ChangeNothingThatARunTakes) {
  const Plan plan = somePlan();
  const Plan with = withCells(plan, random_);
  SCOPED_TRACE(toCsv(with));
  ASSERT_THAT(test::problemsOf(with), ElementsAre());
  EXPECT_EQ(fingerprint(with), fingerprint(plan));
  const Costs costs = someCosts(plan, random_);
  const SimulateOptions options{.steps = 2, .counters = true};
  expectSameRun(simulate(CheckedPlan(with), costs, options),
                simulate(CheckedPlan(plan), costs, options));
  const DryRun own = dryRun(CheckedPlan(plan), costs);
  const DryRun run = ofOwnCells(dryRun(CheckedPlan(with), costs), with);
  EXPECT_EQ(run.length, own.length);
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    EXPECT_EQ(run.ranks[r].begin, own.ranks[r].begin);
    EXPECT_EQ(run.ranks[r].end, own.ranks[r].end);
    EXPECT_EQ(run.ranks[r].peakLive, own.ranks[r].peakLive);
    EXPECT_EQ(run.ranks[r].peakMemory, own.ranks[r].peakMemory);
  }
  for (const int buffers : {kBlocking, kPostedOnly, 1}) {
    EXPECT_EQ(check(with, {.buffers = buffers}).empty(), check(plan, {.buffers = buffers}).empty());
  }
  if (withoutTransfers(plan).ranks == plan.ranks || plan.credits > 0) return;
  for (const CommStreams lines : {CommStreams::kMessage, CommStreams::kPeer, CommStreams::kRank}) {
    const bool runs = check(plan, {.commStreams = lines}).empty();
    EXPECT_EQ(check(with, {.commStreams = lines}).empty(), runs);
    if (!runs) continue;
    expectSameRun(simulate(CheckedPlan(with), costs, {.commStreams = lines}),
                  simulate(CheckedPlan(plan), costs, {.commStreams = lines}));
  }
}

TEST_P(DataParallelCells, StayInFilesAndInChangedPlans) {
  const Plan plan = somePlan();
  const Plan with = withCells(plan, random_);
  SCOPED_TRACE(toCsv(with));
  EXPECT_EQ(withoutDataParallel(with).ranks, plan.ranks);
  const Plan read = readPlan(toCsv(with), "read");
  EXPECT_EQ(read.ranks, with.ranks);
  EXPECT_EQ(withoutDataParallel(read).placement, plan.placement);
  EXPECT_EQ(read.numStages, plan.numStages);
  EXPECT_EQ(read.numMicroBatches, plan.numMicroBatches);
  const std::vector<bool> all(static_cast<std::size_t>(plan.numStages), true);
  EXPECT_EQ(withoutDataParallel(withRecompute(with, all)).ranks, withRecompute(plan, all).ranks);
  EXPECT_EQ(withoutDataParallel(forwardPart(with)).ranks, forwardPart(plan).ranks);
  if (plan.credits == 0 && plan.numRanks() > 1) {
    const Costs costs = someCosts(plan, random_);
    EXPECT_EQ(withoutDataParallel(withMessagesInTime(CheckedPlan(with), costs)).ranks,
              withMessagesInTime(CheckedPlan(plan), costs).ranks);
  }
  const Plan bare = withoutTransfers(plan);
  const int ahead = random_.below(3);
  EXPECT_EQ(withoutDataParallel(addTransfers(withoutTransfers(with), {.ahead = ahead})).ranks,
            addTransfers(Plan(bare), {.ahead = ahead}).ranks);
}

TEST_P(DataParallelCells, WithTimesAreOnThePathThatIsAsLongAsTheStep) {
  const Plan plan = somePlan();
  const CheckedPlan with = CheckedPlan(withCells(plan, random_));
  SCOPED_TRACE(toCsv(*with));
  Costs costs = someCosts(plan, random_);
  for (const auto& row : with->ranks) {
    for (const Action& action : row) {
      if (!isDataParallel(action.kind) || random_.below(3) == 0) continue;
      costs.faults.jobs.push_back({.action = action, .longer = 1 + random_.below(9)});
    }
  }
  const Simulation run = simulate(with, costs);
  EXPECT_EQ(run.criticalPath.length(), run.length);
  EXPECT_EQ(dryRun(with, costs).length, run.length);
  for (const Track& track : run.timeline.tracks) {
    if (track.lane != "compute") continue;
    for (std::size_t i = 1; i < track.events.size(); ++i) {
      EXPECT_GE(track.events[i].begin, track.events[i - 1].end) << "two jobs at once";
    }
  }
}

TEST(DataParallel, CellsAreReadAndWritten) {
  for (const char* cell : {"0UNSHARD", "3RESHARD", "1REDUCE_GRAD", "2UNSHARD7"}) {
    const auto action = parseAction(cell);
    ASSERT_TRUE(action) << cell;
    EXPECT_TRUE(isDataParallel(action->kind));
    EXPECT_EQ(toText(*action), cell);
  }
  EXPECT_EQ(parseAction("0UNSHARDx"), std::nullopt);
  EXPECT_EQ(parseAction("UNSHARD0"), std::nullopt);
  EXPECT_EQ(parseAction("(0F0;0RESHARD)OVERLAP_F_B"), std::nullopt);
}

TEST(DataParallel, KindsAreThoseOfNoOtherAction) {
  using enum JobKind;
  for (const JobKind kind :
       {kForward, kBackward, kBackwardInput, kBackwardWeight, kForwardBackward, kRecompute,
        kSendForward, kRecvForward, kSendBackward, kRecvBackward}) {
    EXPECT_FALSE(isDataParallel(kind)) << logName(kind);
  }
}

TEST(DataParallel, ACellThatMovesAWrongNumberInKeepsThePlansSize) {
  const Plan plan = readPlan("9UNSHARD,0F0,0B0,0REDUCE_GRAD99\n5RESHARD,1F0,1B0\n", "plan");
  EXPECT_EQ(plan.numStages, 2);
  EXPECT_EQ(plan.numMicroBatches, 1);
  EXPECT_THAT(test::problemsOf(plan), ElementsAre());
}

TEST(DataParallel, CellsCountAsCellsOfTheRow) {
  EXPECT_THAT(test::problemsOf("0UNSHARD,0F0,0F0,0B0\n"),
              ElementsAre("rank 0, cell 2: 0F0 is done already by rank 0, cell 1 (0F0)"));
  EXPECT_EQ(test::errorOf("0UNSHARD,0F0,0X0\n").substr(0, 40),
            "plan.csv:1:14: rank 0, cell 2: \"0X0\" is ");
}

TEST(DataParallel, AJobsOwnTimeIsAJobOnItsRank) {
  const CheckedPlan plan = readPlan(
      "0UNSHARD,0F0,0B0,0REDUCE_GRAD,0RESHARD\n1UNSHARD,1F0,1B0,1REDUCE_GRAD,1RESHARD\n", "plan");
  Costs costs = Costs::equal(2, {.forward = 10, .backward = 20});
  costs.optimizer = 5;
  costs.faults.jobs = {{.action = {JobKind::kAllGather, 0, -1}, .longer = 3},
                       {.action = {JobKind::kReduceScatter, 0, -1}, .longer = 7},
                       {.action = {JobKind::kReshard, 1, -1}, .longer = 1}};
  const Simulation run = simulate(plan, costs);
  EXPECT_EQ(run.length, 3 + 10 + 10 + 20 + 20 + 7 + 5);
  EXPECT_EQ(run.ranks[0].busy, 30) << "the rank waits for other replicas";
  std::vector<std::string> jobs;
  for (const Event& event : run.timeline.findTrack(0, "compute")->events) {
    jobs.push_back(std::string(logName(event.kind)) + " " + std::to_string(event.begin) + "-" +
                   std::to_string(event.end) + " " + std::to_string(event.job));
  }
  EXPECT_THAT(jobs, ElementsAre("all_gather 0-3 0", "forward 3-13 1", "backward 43-63 2",
                                "reduce_scatter 63-70 3", "optimizer 70-75 4"));
  const Event& last = run.timeline.findTrack(1, "compute")->events[2];
  EXPECT_EQ(run.timeline.strings[last.name], "1RESHARD");
  std::vector<std::string> path;
  for (const CriticalPath::Link& link : run.criticalPath.links) path.push_back(link.text);
  EXPECT_THAT(path,
              ElementsAre("0UNSHARD", "0F0", "1F0", "1B0", "0B0", "0REDUCE_GRAD", "optimizer"));
}

TEST(DataParallel, GradientsAreReducedBeforeTheUpdateThatTheyAreFor) {
  Plan plan = readPlan("# update_every = 1\n0F0,0B0,0REDUCE_GRAD,0F1,0B1\n", "plan");
  Costs costs = Costs::equal(1, {.forward = 10, .backward = 20});
  costs.optimizer = 5;
  costs.faults.jobs = {{.action = {JobKind::kReduceScatter, 0, -1}, .longer = 7}};
  const Simulation run = simulate(std::move(plan), costs);
  std::vector<std::string> jobs;
  for (const Event& event : run.timeline.findTrack(0, "compute")->events) {
    jobs.push_back(std::string(logName(event.kind)) + " " + std::to_string(event.begin));
  }
  EXPECT_THAT(jobs, ElementsAre("forward 0", "backward 10", "reduce_scatter 30", "optimizer 37",
                                "forward 42", "backward 52", "optimizer 72"));
  EXPECT_EQ(run.criticalPath.length(), run.length);
}

TEST(DataParallel, JobListsOfPaddlePaddleAreWithoutIt) {
  const Plan plan = readPlan("0UNSHARD,0F0,0F1,0B0,0RESHARD,0F2,0B1,0B2,0REDUCE_GRAD\n", "plan");
  for (const bool transfers : {false, true}) {
    const PaddleJobListOptions options{.transfers = transfers};
    EXPECT_EQ(paddleJobList(plan, 0, options),
              paddleJobList(withoutDataParallel(plan), 0, options));
  }
}

TEST(DataParallel, TheForwardPartKeepsWhatIsAboutParameters) {
  const Plan plan = readPlan("0UNSHARD,0F0,0RESHARD,0B0,0REDUCE_GRAD\n", "plan");
  EXPECT_EQ(toCsv(forwardPart(plan)), "0UNSHARD,0F0,0RESHARD\n");
}

}  // namespace
}  // namespace pipetrace
