#include "analysis/what_if/run_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "analysis/costs/measured_costs.h"
#include "analysis/explain/held_lines.h"
#include "analysis/what_if/logged_messages.h"
#include "analysis/what_if/stage_changes.h"
#include "schedule/add_transfers.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// Ranks may run ahead into the next step: those in the middle show how that goes on.
constexpr int kSteps = 5;

/// Messages at one time may be logged in an order that does not run.
bool runsInLine(const Plan& plan, const Costs& costs, CommStreams lines) {
  try {
    simulate(CheckedPlan(plan), costs, {.commStreams = lines});
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

RunModel::RunModel(const Run& run, const RunAgain& again, const CountedSteps& counted,
                   const RunBlocks* blocks) {
  const RunSummary& summary = run.summary();
  const RunBasis& basis = run.basis();
  const Topology& topology = run.topology();
  if (summary.isAsynchronous()) {
    reason_ =
        "the run is asynchronous: weights change between the jobs of a step, and no step has "
        "an end of its own";
    return;
  }
  if (basis.pipelines().empty() || basis.pipelines().front().windows.empty()) {
    reason_ = "no step of the run is whole";
    return;
  }
  const PipelineBasis& pipeline = slowestPipeline(basis, counted);
  if (basis.pipelines().size() > 1) {
    const auto replicas = topology.replicas();
    const auto found = replicas.find(pipeline.replica);
    if (found != replicas.end()) ranksInUse_ = found->second;
  }
  const Nanoseconds tail = tailOf(basis.graph(), pipeline, counted);
  const std::size_t replicas =
      basis.pipelines().size() / static_cast<std::size_t>(std::max(1, topology.tensorRanks));
  if (replicas > 1) {
    slowest_ = {.replica = topology.dataParallelIndex(pipeline.replica),
                .replicas = static_cast<int>(replicas),
                .ranks = ranksInUse_,
                .tail = tail};
  }
  try {
    costs_ = measuredCosts(run, counted, ranksInUse_);
    findPlan(run, pipeline);
  } catch (const Error& error) {
    reason_ = error.what();
  }
  if (!reason_.empty()) return;
  const std::int64_t activation = kActivation / chunks();
  for (StageCosts& stage : costs_.stages) {
    stage.activation = activation;
    stage.reduction = 0;
  }
  costs_.scalarAllReduce = 0;
  costs_.bandwidth = 0;
  findLaunches(again, counted);
  findLinks(again, counted);
  if (basis.pipelines().size() > 1) {
    findSlowRanks(basis.graph(), counted);
  } else {
    doubtSlowStage(run.timeline(), basis.graph(), counted);
  }
  costs_.optimizer = tail;
  startsTogether_ = std::all_of(summary.steps.begin(), summary.steps.end(), [&](const auto& step) {
    return !counted.contains(step.step) || step.windowEnd >= step.end;
  });
  if (blocks != nullptr) addBlocks(*blocks);
  if (topology.tensorRanks > 1) {
    assumptions_.push_back("tensor-parallel peers run alike: one of each is simulated");
  }
  if (slowest_) {
    assumptions_.push_back("one of " + std::to_string(slowest_->replicas) +
                           " replicas is simulated: " + std::to_string(slowest_->replica) +
                           ", whose jobs end last; no other one is taken to be slower after the "
                           "change");
  }
}

RunModel RunModel::of(const Run& run) {
  const CountedSteps counted = run.usualSteps();
  const RunAgain again(run, counted);
  return {run, again, counted};
}

void RunModel::findPlan(const Run& run, const PipelineBasis& pipeline) {
  const JobGraph& graph = run.graph();
  const FollowedSchedule& followed = run.schedule();
  const std::int32_t step = pipeline.lastWholeWindow().step;
  MeasuredPlan measured = measuredPlan(run.timeline(), run.topology(), pipeline.replica, step);
  if (!measured.isWhole()) {
    reason_ = measured.problem.empty() ? "no step of the run is a whole plan" : measured.problem;
    return;
  }
  if (costs_.stages.size() < static_cast<std::size_t>(measured.plan.numStages)) {
    reason_ = "the run has no jobs of some stages";
    return;
  }
  rankNumbers_ = measured.rankNumbers;
  const RecognisedSchedule recognised =
      pipeline.replica == followed.replica ? followed.recognised : recogniseSchedule(measured.plan);
  if (recognised.isExact) schedule_ = recognised.names.front();
  std::vector<bool> recomputes;
  for (const StageCosts& stage : costs_.stages) recomputes.push_back(stage.recompute > 0);
  plain_ = measured.plan;
  plan_ = withRecompute(plain_, recomputes);
  if (schedule_.empty()) {
    assumptions_.push_back(
        "no schedule is known that has the order of the run; the order is the run's "
        "own");
  }
  CheckedPlan{plan_};  // throws where it cannot run
  if (!graph.hasLines()) return;
  lines_ = linesOfRun(graph);
  full_ = withLoggedMessages(plan_, measured, graph, step);
  if (!full_.ranks.empty() && runsInLine(full_, costs_, lines_)) return;
  full_ = withMessagesOfTorch(CheckedPlan(plan_));
  assumptions_.push_back(
      "the order of messages on their lines is torch's: that of the logs "
      "does not run, or lacks some");
}

int RunModel::positionOf(int rank, const std::string& option) const {
  const auto at = std::find(rankNumbers_.begin(), rankNumbers_.end(), rank);
  if (at == rankNumbers_.end()) {
    throw Error(option + ": the pipeline that is simulated has no rank " + std::to_string(rank));
  }
  return static_cast<int>(at - rankNumbers_.begin());
}

void RunModel::scaleRunsOwn(const RunChanges& times, Costs& costs) const {
  if (!times.ideals.empty()) {
    throw Error("--make-ideal " + times.ideals.front().text +
                ": it is about the jobs of the run, and not for another plan; --balance stages is");
  }
  if (times.balancesStages) balanceStages(costs);
  std::vector<ScaleOption> own;
  for (const ScaleOption& scale : times.scales) {
    const bool isOwn = scale.of == ScaleOption::Of::kStage || scale.of == ScaleOption::Of::kKind;
    if (isOwn) own.push_back(scale);
  }
  applyScales(own, plan_, costs);
}

void RunModel::scalePlans(const RunChanges& times, const Plan& plan, Costs& costs) const {
  for (const RunChanges::Link& link : times.links) {
    const Faults::Link changed{positionOf(link.rank, link.text), positionOf(link.peer, link.text),
                               link.time};
    if (!exchangeMessages(plan, changed.rank, changed.peer)) {
      throw Error(link.text + ": no message moves between these ranks in the plan " + plan.name);
    }
    costs.faults.links.push_back(changed);
  }
  std::vector<ScaleOption> scales;
  for (ScaleOption scale : times.scales) {
    using Of = ScaleOption::Of;
    if (scale.of != Of::kRank && scale.of != Of::kLink) continue;
    scale.number = positionOf(scale.number, "--scale " + scale.text);
    if (scale.of == Of::kLink) scale.peer = positionOf(scale.peer, "--scale " + scale.text);
    scales.push_back(std::move(scale));
  }
  applyScales(scales, plan, costs);
}

RunModel::SimulatedRun RunModel::run(const PlanChanges& changes, const RunChanges& times) const {
  requireEffect(changes);
  SimulatedRun run;
  Costs costs = costs_;
  const bool isOtherPlan = changes.changesJobs() || changes.partition;
  if (isOtherPlan) takeSlownessFrom(costs);
  scaleRunsOwn(times, costs);
  const auto runsStages = static_cast<int>(costs.stages.size());
  splitBackwards(changes, costs);
  Plan plan = plannedWith(changes, costs);
  run.order = plan;
  run.assumptions = groundsOf(changes, plan);
  if (!changes.keepsBatch) {
    run.batch = static_cast<double>(plan.numMicroBatches) / plan_.numMicroBatches;
  }
  if (isOtherPlan) applyScales(slowRanks_, plan, costs);
  scalePlans(times, plan, costs);
  // A job waits for its launch before it works: so it ends as late as one that is as much longer.
  const auto launchOf = [&](int stage, JobKind kind) -> Nanoseconds {
    if (times.leavesOutLaunches) return 0;
    const int own = stage * runsStages / std::max(plan.numStages, 1);
    auto launch = launches_.find({own, kind});
    const bool isHalf = kind == JobKind::kBackwardInput || kind == JobKind::kBackwardWeight;
    if (launch == launches_.end() && isHalf) launch = launches_.find({own, JobKind::kBackward});
    return launch == launches_.end() ? 0 : launch->second;
  };
  Costs whole = costs;
  for (int stage = 0; stage < plan.numStages; ++stage) {
    for (const JobKind kind : kStageKinds) {
      Nanoseconds& time = timeOf(whole.stages[static_cast<std::size_t>(stage)], kind);
      if (time >= 0) time += launchOf(stage, kind);
    }
  }
  const CommStreams lines = changes.lines.value_or(lines_);
  const bool isRunsOrder =
      !changes.changesJobs() && plan.ranks == plan_.ranks && !full_.ranks.empty();
  if (changes.transfers == "in-time") {
    plan = withMessagesInTime(CheckedPlan(std::move(plan)), whole);
  } else if (lines != CommStreams::kAsReached || changes.transfers == "torch") {
    plan = isRunsOrder && changes.transfers.empty()
               ? full_
               : withMessagesOfTorch(CheckedPlan(std::move(plan)));
  }
  const CheckedPlan checked(std::move(plan));
  Simulation simulation =
      simulate(checked, whole,
               {.steps = kSteps, .stepsStartTogether = startsTogether_, .commStreams = lines});
  for (Track& track : simulation.timeline.tracks) {
    if (track.lane != kComputeLane) continue;
    for (Event& event : track.events) {
      if (isCompute(event.kind))
        event.begin += std::min(event.duration(), launchOf(event.stage, event.kind));
    }
  }
  simulation.timeline.sort();
  run.plan = changes.changesJobs() ? checked->name : schedule_;
  run.microBatches = checked->numMicroBatches;
  run.messages = checked->hasMessages() ? messagesBetweenRanks(*checked) : 0;
  for (const Simulation::Rank& rank : simulation.ranks) {
    run.peaks.push_back(static_cast<double>(rank.peakMemory) / kActivation);
  }
  run.timeline = std::move(simulation.timeline);
  return run;
}

}  // namespace pipetrace
