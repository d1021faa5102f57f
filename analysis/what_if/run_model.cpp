#include "analysis/what_if/run_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/causes/held_lines.h"
#include "analysis/causes/logged_messages.h"
#include "analysis/causes/slower_than_others.h"
#include "analysis/event_bytes.h"
#include "analysis/median.h"
#include "analysis/run/costs/measured_costs.h"
#include "analysis/run/graph/job_graph.h"
#include "analysis/run/plans/measured_plan.h"
#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check/checked_plan.h"
#include "schedule/compare/split_costs.h"
#include "schedule/costs.h"
#include "schedule/partition/measured_blocks.h"
#include "schedule/planned_message.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"
#include "trace/job_kind.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

/// The kinds of jobs that a stage's costs have times of.
constexpr JobKind kStageKinds[] = {JobKind::kForward,         JobKind::kBackward,
                                   JobKind::kBackwardInput,   JobKind::kBackwardWeight,
                                   JobKind::kForwardBackward, JobKind::kRecompute};

/// The time of one of kStageKinds.
Nanoseconds& timeOf(StageCosts& stage, JobKind kind) {
  switch (kind) {
    case JobKind::kForward: return stage.forward;
    case JobKind::kBackward: return stage.backward;
    case JobKind::kBackwardInput: return stage.backwardInput;
    case JobKind::kBackwardWeight: return stage.backwardWeight;
    case JobKind::kForwardBackward: return stage.forwardBackward;
    default: return stage.recompute;
  }
}

/// Splits a whole backward, of which the input half has that share. `isAsked`: also where halves
/// are known.
void splitBackward(StageCosts& stage, double inputShare, bool isAsked) {
  const bool isSplit = stage.backwardInput > 0 || stage.backwardWeight > 0;
  if (isSplit && !isAsked) return;
  stage.backwardInput = std::llround(static_cast<double>(stage.backward) * inputShare);
  stage.backwardWeight = stage.backward - stage.backwardInput;
}

/// Gives each stage the mean of all stages for each kind of job that they have.
void balanceStages(Costs& costs) {
  for (const JobKind kind : kStageKinds) {
    Nanoseconds sum = 0;
    Nanoseconds count = 0;
    for (StageCosts& stage : costs.stages) {
      const Nanoseconds time = timeOf(stage, kind);
      if (time <= 0) continue;
      sum += time;
      ++count;
    }
    for (StageCosts& stage : costs.stages) {
      if (timeOf(stage, kind) > 0) timeOf(stage, kind) = sum / count;
    }
  }
}

std::int64_t scaled(std::int64_t value, double size) {
  return std::llround(static_cast<double>(value) * size);
}

/// Makes micro-batches that many times as large: jobs and activations scale.
void scaleMicroBatch(StageCosts& stage, double size) {
  for (const JobKind kind : kStageKinds) {
    Nanoseconds& time = timeOf(stage, kind);
    if (time > 0) time = scaled(time, size);
  }
  for (std::int64_t StageCosts::*const held :
       {&StageCosts::activation, &StageCosts::freedByInput, &StageCosts::recomputed}) {
    stage.*held = scaled(stage.*held, size);
  }
}

/// From this size on a message takes as long as its bytes, on any link that stages of a pipeline
/// use: a megabyte takes 20 us at 50 GB/s, and a message as such 5 to 20 us.
constexpr std::int64_t kLargeMessage = std::int64_t{1} << 20;

/// Messages at one time may be logged in an order that does not run.
bool runsInLine(const Plan& plan, const Costs& costs, CommStreams lines) {
  try {
    simulate(CheckedPlan(plan), costs, {.commStreams = lines});
    return true;
  } catch (const Error&) {
    return false;
  }
}

using MedianWork = RunNetwork::Operation;
using MedianIndex = RunNetwork::Index;

/// From this factor on, stages of one rank take longer than others.
constexpr double kSlowStages = 1.1;

ScaleOption scaleOfRank(int position, double factor) {
  return {.of = ScaleOption::Of::kRank,
          .number = position,
          .billionths = std::llround(factor * ScaleOption::kOne)};
}

// Five steps of as many take some seconds and 2 GB.
constexpr std::int64_t kMostJobsOfPlan = 1'000'000;

void requireSimulable(const std::string& schedule, const PlanSize& size) {
  const PlanSize settled = settledSize(schedule, size);
  const std::int64_t jobs = std::int64_t{3} * settled.ranks * settled.chunks * settled.microBatches;
  if (jobs <= kMostJobsOfPlan) return;
  throw Error("a step of " + std::to_string(settled.microBatches) + " micro-batches on " +
              std::to_string(settled.ranks) + " ranks has about " + std::to_string(jobs) +
              " jobs; a simulation has at most " + std::to_string(kMostJobsOfPlan));
}

}  // namespace

const PipelineBasis& slowestPipeline(const RunBasis& basis, const CountedSteps& counted) {
  const PipelineBasis* slowest = &basis.pipelines().front();
  Nanoseconds longest = 0;
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    std::vector<Nanoseconds> lengths;
    for (const BubbleWindow& window : pipeline.windows) {
      if (!counted.contains(window.step) || window.lastCompute == JobGraph::kNone) continue;
      lengths.push_back(basis.graph().node(window.lastCompute).end - window.span.begin);
    }
    const Nanoseconds length = medianOf(lengths);
    if (length <= longest) continue;
    longest = length;
    slowest = &pipeline;
  }
  return *slowest;
}

Nanoseconds tailOf(const JobGraph& graph, const PipelineBasis& pipeline,
                   const CountedSteps& counted) {
  std::vector<Nanoseconds> tails;
  for (const BubbleWindow& window : pipeline.windows) {
    if (!counted.contains(window.step) || !window.isWhole) continue;
    if (window.last == JobGraph::kNone || window.lastCompute == JobGraph::kNone) continue;
    tails.push_back(graph.node(window.last).end - graph.node(window.lastCompute).end);
  }
  return medianOf(tails);
}

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
  findLinks(run.timeline(), again, counted);
  findVariation(basis.graph(), counted);
  if (basis.pipelines().size() > 1) {
    if (basis.graph().inside().empty()) {
      findSlowRanks(basis.graph(), counted);
    } else {
      findSlowPeers(basis.graph(), counted);
    }
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

RunModel::SimulatedRun RunModel::run(const PlanChanges& changes, const RunChanges& times,
                                     int steps) const {
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
               {.steps = steps, .stepsStartTogether = startsTogether_, .commStreams = lines});
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

// RunModel's medians of launches and of messages.

bool RunModel::isOfPipeline(int rank) const {
  return ranksInUse_.empty() || std::binary_search(ranksInUse_.begin(), ranksInUse_.end(), rank);
}

void RunModel::findLaunches(const RunAgain& again, const CountedSteps& counted) {
  std::map<std::pair<int, JobKind>, std::vector<Nanoseconds>> found;
  const std::vector<MedianWork>& operations = again.network().operations();
  for (MedianIndex i = 0; i < again.network().wholeCount(); ++i) {
    const MedianWork& work = operations[i];
    const Event& event = again.work().event(work.id);
    if (again.isMessage(work) || !isCompute(event.kind) || !counted.contains(event.step)) continue;
    if (!isOfPipeline(again.rankOf(work))) continue;
    if (work.launch > 0 && !again.hasLaunch(i)) continue;  // a pause, or a message
    found[{event.stage, event.kind}].push_back(
        std::max<Nanoseconds>(0, static_cast<Nanoseconds>(work.launch)));
  }
  for (auto& [key, launches] : found) launches_[key] = medianOf(launches);
}

void RunModel::findVariation(const JobGraph& graph, const CountedSteps& counted) {
  const std::vector<double> all =
      variationByRank(graph, MedianDurations(graph, 1, counted), counted);
  double count = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!isOfPipeline(graph.ranks()[r].number)) continue;
    variation_ += all[r];
    ++count;
  }
  variation_ /= std::max(count, 1.0);
}

/// A message takes from when its data is there, its receive is posted and its lines are free.
void RunModel::findLinks(const Timeline& timeline, const RunAgain& again,
                         const CountedSteps& counted) {
  std::vector<std::int64_t> bytes;
  std::map<std::pair<int, int>, std::vector<Nanoseconds>> links;  // of ranks of the plan
  std::vector<Nanoseconds> all;
  std::vector<Nanoseconds> unlogged;
  const std::vector<MedianWork>& operations = again.network().operations();
  for (MedianIndex i = 0; i < again.network().wholeCount(); ++i) {
    const MedianWork& work = operations[i];
    const Event& event = again.work().event(work.id);
    if (!counted.contains(event.step) || !isOfPipeline(again.rankOf(work))) continue;
    if (!again.isMessage(work)) {
      if (again.waitsForUnlogged(i)) unlogged.push_back(static_cast<Nanoseconds>(work.launch));
      continue;
    }
    const auto time = std::max<Nanoseconds>(
        0, static_cast<Nanoseconds>(work.measured + std::max(0.0, work.launch)));
    all.push_back(time);
    if (const auto size = bytesOf(timeline, event)) bytes.push_back(*size);
    const auto [from, to] = again.ranksOf(work);
    const auto positionOfRank = [&](int rank) {
      const auto at = std::find(rankNumbers_.begin(), rankNumbers_.end(), rank);
      return at == rankNumbers_.end() ? -1 : static_cast<int>(at - rankNumbers_.begin());
    };
    const int a = positionOfRank(from);
    const int b = positionOfRank(to);
    if (a >= 0 && b >= 0) links[std::minmax(a, b)].push_back(time);
  }
  if (all.empty()) {
    if (rankNumbers_.size() < 2) return;
    costs_.transfer = medianOf(unlogged);
    assumptions_.push_back(
        "the logs have no messages: the time between a job and the one on another "
        "rank that waited for it counts as one");
    return;
  }
  messagesScale_ = 2 * bytes.size() > all.size() && medianOf(bytes) >= kLargeMessage;
  costs_.transfer = medianOf(all);
  for (auto& [link, times] : links) {
    costs_.faults.links.push_back({link.first, link.second, medianOf(times)});
  }
}

std::vector<Faults::Link> RunModel::unusualLinks() const {
  std::vector<Faults::Link> links;
  for (const Faults::Link& link : costs_.faults.links) {
    if (link.transfer != costs_.transfer) links.push_back(link);
  }
  return links;
}

Nanoseconds RunModel::usualLaunch() const {
  std::vector<Nanoseconds> launches;
  for (const auto& [key, launch] : launches_) launches.push_back(launch);
  return medianOf(launches);
}

// The part of RunModel that tells slow ranks from stages with more work.

std::vector<std::vector<int>> RunModel::ownStages() const {
  std::vector<std::vector<int>> own(std::max(plan_.ranks.size(), rankNumbers_.size()));
  for (int stage = 0; stage < plan_.numStages; ++stage) {
    const std::vector<int> ranks = plan_.ranksOf(stage);
    if (ranks.size() != 1) continue;
    const auto rank = static_cast<std::size_t>(ranks.front());
    if (rank < own.size()) own[rank].push_back(stage);
  }
  return own;
}

void RunModel::findSlowRanks(const JobGraph& graph, const CountedSteps& counted) {
  const SlowerRanks slower(graph, counted);
  const std::vector<std::vector<int>> own = ownStages();
  for (std::size_t position = 0; position < rankNumbers_.size(); ++position) {
    const int number = rankNumbers_[position];
    if (number < 0 || own[position].empty()) continue;
    const double factor = slower.of(number).factor;
    if (!slower.of(number).isSlower()) continue;
    slowRanks_.push_back(scaleOfRank(static_cast<int>(position), factor));
    assumptions_.push_back("rank " + std::to_string(number) + " stays " + fixedText(factor, 2) +
                           " times as slow as its peers, whatever stages it gets");
  }
}

/// Ranks that meet inside jobs with one that is slower wait for it there, so all are as slow.
void RunModel::findSlowPeers(const JobGraph& graph, const CountedSteps& counted) {
  const SlowerRanks slower(graph, counted);
  const MedianDurations usual(graph, 1, counted);
  const std::vector<std::vector<int>> own = ownStages();
  assumptions_.emplace_back(
      "ranks that meet inside jobs wait for each other there as long as they did");
  for (std::size_t position = 0; position < rankNumbers_.size(); ++position) {
    const int number = rankNumbers_[position];
    if (number < 0 || own[position].empty()) continue;
    int slow = -1;
    for (const JobGraph::Rank& rank : graph.ranks()) {
      const SlowerRanks::Rank& each = slower.of(rank.number);
      const bool isPeer = std::find(each.stages.begin(), each.stages.end(),
                                    own[position].front()) != each.stages.end();
      if (isPeer && each.isSlower()) slow = rank.number;
    }
    if (slow < 0) continue;
    double measured = 0;
    double alike = 0;
    for (const JobGraph::Rank& rank : graph.ranks()) {
      if (rank.number != number) continue;
      for (JobGraph::Id job = rank.first; job < rank.end; ++job) {
        const JobGraph::Node& node = graph.node(job);
        if (!isCompute(node.kind) || !counted.contains(node.step)) continue;
        measured += static_cast<double>(node.end - node.begin);
        alike += static_cast<double>(usual.median(job));
      }
    }
    const double factor = alike > 0 ? measured / alike : 1;
    if (factor < SlowerRanks::kSlow) continue;
    slowRanks_.push_back(scaleOfRank(static_cast<int>(position), factor));
    assumptions_.push_back("rank " + std::to_string(slow) + " stays " +
                           fixedText(slower.of(slow).factor, 2) +
                           " times as slow as its peers, which wait for it, whatever stages it "
                           "gets");
  }
}

/// Nobody can tell whether the stages of a rank without peers have more work, or the rank is
/// slower.
void RunModel::doubtSlowStage(const Timeline& timeline, const JobGraph& graph,
                              const CountedSteps& counted) {
  const MedianDurations usual(graph, 1, counted);
  const SlowerStages stages(timeline, graph, usual, counted);
  if (stages.count() < 2 || rankNumbers_.size() < 2) return;
  const std::vector<std::vector<int>> ofRanks = ownStages();
  double most = kSlowStages;
  int slowest = -1;
  for (int position = 0; position < static_cast<int>(rankNumbers_.size()); ++position) {
    const std::vector<int>& own = ofRanks[static_cast<std::size_t>(position)];
    if (own.empty()) continue;
    const SlowerStages::Factor factor = stages.besideOthers({own.begin(), own.end()});
    if (!factor.isKnown || factor.times < most) continue;
    most = factor.times;
    slowest = position;
  }
  if (slowest < 0) return;
  const std::vector<int>& own = ofRanks[static_cast<std::size_t>(slowest)];
  const std::string rank = std::to_string(rankNumbers_[static_cast<std::size_t>(slowest)]);
  std::string options;
  for (const int stage : own) {
    options += "--scale stage=" + std::to_string(stage) + ":" + fixedText(1 / most, 4) + " ";
  }
  assumptions_.push_back(
      (own.size() == 1 ? "stage " : "stages ") + numbersText(own) +
      (own.size() == 1 ? " is" : " are") + " taken to have more work; if rank " + rank +
      " is slower instead, other schedules gain less, as what-if --schedule " + "says with " +
      options + "--scale rank=" + rank + ":" + fixedText(most, 4));
}

void RunModel::takeSlownessFrom(Costs& costs) const {
  if (slowRanks_.empty()) return;
  const std::vector<std::vector<int>> own = ownStages();
  for (const ScaleOption& slow : slowRanks_) {
    const ScaleOption faster = scaleOfRank(slow.number, 1 / slow.factor());
    for (const int stage : own[static_cast<std::size_t>(slow.number)]) {
      for (const JobKind kind : kStageKinds) {
        Nanoseconds& time = timeOf(costs.stages[static_cast<std::size_t>(stage)], kind);
        if (time > 0) time = faster.scaled(time);
      }
    }
  }
}

// The part of RunModel that makes another plan of a run's jobs, and cuts the model into its stages.

void RunModel::addBlocks(const RunBlocks& blocks) {
  try {
    const MeasuredBlocks measured(blocks.table, blocks.partition, costs_.stages);
    activationBytes_ = measured.bytesOfUnit() * kActivation;
    costs_.stages = blocks.stages(costs_.stages, plan_.numStages, {});
  } catch (const Error& error) {
    throw Error(std::string("--blocks: ") + error.what());
  }
  blocks_ = blocks;
  assumptions_.emplace_back(
      blocks.isMeasured ? "the blocks of a stage share its measured times as the table has them"
                        : "the blocks of a stage are taken to take equally long");
  if (!blocks.table.hasMemory()) {
    assumptions_.emplace_back(
        "all blocks are taken to hold equally much, as nothing says their activation_bytes");
  }
  if (!blocks.isMeasured) return;
  const auto hasSize = [](const BlockCosts& block) { return block.message > 0; };
  if (std::none_of(blocks.table.blocks.begin(), blocks.table.blocks.end(), hasSize)) {
    assumptions_.emplace_back(
        "the table has no message_bytes: a message takes as long as it did, wherever a stage ends");
  }
}

std::int64_t RunModel::memoryOf(double activations) const {
  constexpr double kMost = 1e9;  // so that it stays a number of units
  return std::llround((std::min(activations, kMost) + kLimitRounding) * kActivation);
}

BlockTable RunModel::measuredTable() const {
  Costs costs = costs_;
  takeSlownessFrom(costs);
  BlockTable table = MeasuredBlocks(blocks_->table, blocks_->partition, costs.stages).table();
  table.transfer = costs_.transfer;
  return table;
}

std::string RunModel::scheduleOf(const PlanChanges& changes) const {
  if (!changes.schedule.empty()) return changes.schedule;
  if (schedule_.empty()) {
    throw Error(
        "no schedule is known that has the order of the run; --schedule names the one to "
        "take");
  }
  // With several stages a rank, 1F1B has a name of its own.
  const ScheduleInfo& info = scheduleInfo(schedule_);
  if (info.becomesChunkedKin && changes.chunks > 1) return std::string(info.chunkedKin->name);
  return schedule_;
}

Plan RunModel::changedPlan(const PlanChanges& changes, const Costs& costs) const {
  const std::string name = scheduleOf(changes);
  const ScheduleInfo& info = scheduleInfo(name);
  if (info.isAsynchronous || info.isForwardOnly) {
    throw Error("--schedule " + name + ": " +
                (info.isAsynchronous ? "it is asynchronous, so none of its steps has an end of its "
                                       "own to compare with"
                                     : "it trains nothing"));
  }
  if (plan_.placement.hasSeveralRanks() && !plan_.isBidirectional()) {
    throw Error("stages of the run stand on several ranks; no other plan of these is simulated");
  }
  PlanSize size{plan_.numRanks(), plan_.numMicroBatches, changes.chunks};
  if (changes.microBatches > 0) size.microBatches = changes.microBatches;
  const bool isOwn = changes.schedule.empty();
  if (size.chunks == 0 && isOwn) size.chunks = chunks();
  requireSimulable(name, size);
  if (!changes.depths.empty()) {
    const StageMap map = stageMapOptions("", "", plan_.numRanks());
    return buildOnStageRanks(name, map.ranks, size.microBatches, changes.depths);
  }
  AutoInput input;
  if (info.dependsOnCosts) {
    const PlanSize settled = settledSize(name, size);
    input.costs = costs;
    input.costs.stages = stagesOf(costs.stages, settled.ranks * settled.chunks, changes);
    input.costs = withRecomputeInBackwards(input.costs);
    if (changes.activationLimit > 0) input.memoryLimit = memoryOf(changes.activationLimit);
  }
  try {
    return buildSchedule(name, size, input);
  } catch (const Error&) {
    const bool isTooLittle = changes.activationLimit > 0 && changes.activationLimit < 1;
    if (!isTooLittle) throw;
    throw Error("--limit-activations " + fixedText(changes.activationLimit, 2) + ": " + name +
                " needs room for 1, which is what a micro-batch takes on all stages of a rank");
  }
}

bool RunModel::splitsBackward(const PlanChanges& changes) const {
  const std::string& name = changes.schedule.empty() ? schedule_ : changes.schedule;
  return !name.empty() && scheduleInfo(name).splitsBackward;
}

/// Refuses what would change nothing.
void RunModel::requireEffect(const PlanChanges& changes) const {
  const bool hasLines = changes.lines.value_or(lines_) != CommStreams::kAsReached;
  if (!changes.transfers.empty() && !hasLines) {
    throw Error("--transfers " + changes.transfers +
                ": the messages of the run wait for no others, so their order changes nothing; "
                "--comm-streams puts them on lines");
  }
  if (changes.split && !splitsBackward(changes)) {
    throw Error("--split: " + scheduleOf(changes) + " does not split backwards");
  }
}

std::vector<std::string> RunModel::groundsOf(const PlanChanges& changes, const Plan& plan) const {
  std::vector<std::string> grounds;
  if (!changes.changesJobs()) return grounds;
  const bool hasHalves = std::any_of(
      costs_.stages.begin(), costs_.stages.end(),
      [](const auto& each) { return each.backwardInput > 0 || each.backwardWeight > 0; });
  if (splitsBackward(changes) && !hasHalves && !changes.split) {
    grounds.emplace_back(
        blocks_ && blocks_->isMeasured
            ? "the halves of a backward are as long as the table has them; --split says otherwise"
            : "both halves of a backward are taken to be equally long; --split says otherwise");
  }
  if (plan.numStages > static_cast<int>(costs_.stages.size()) && !blocks_) {
    grounds.emplace_back("stages are cut evenly into virtual stages");
  } else if (plan.numStages < static_cast<int>(costs_.stages.size())) {
    grounds.emplace_back("virtual stages that become one take as long as all of them together");
  }
  return grounds;
}

int RunModel::chunks() const { return std::max(1, plan_.chunksOfDirection()); }

std::vector<StageCosts> RunModel::stagesOf(const std::vector<StageCosts>& stages, int count,
                                           const PlanChanges& changes) const {
  if (!blocks_) {
    if (changes.partition) throw Error("--partition needs the blocks of the model, --blocks");
    return cutStages(stages, count);
  }
  try {
    return blocks_->stages(stages, count, changes.partition);
  } catch (const Error& error) {
    throw Error((changes.partition ? "--partition: " : "--blocks: ") + std::string(error.what()));
  }
}

void RunModel::splitBackwards(const PlanChanges& changes, Costs& costs) const {
  if (!changes.split && !changes.changesJobs()) return;
  for (std::size_t stage = 0; stage < costs.stages.size(); ++stage) {
    double share = blocks_ ? blocks_->inputShareOf(static_cast<int>(stage)) : 0.5;
    if (changes.split) {
      const auto input = static_cast<double>(changes.split->first);
      share = input / (input + static_cast<double>(changes.split->second));
    }
    splitBackward(costs.stages[stage], share, changes.split.has_value());
  }
}

/// The changed plan with its recomputes, and the costs of its stages in place of the run's.
Plan RunModel::plannedWith(const PlanChanges& changes, Costs& costs) const {
  if (!changes.changesJobs() && !changes.partition) return plan_;
  Plan plan = changes.changesJobs() ? changedPlan(changes, costs) : plain_;
  const std::vector<StageCosts> runs = costs.stages;
  costs.stages = stagesOf(runs, plan.numStages, changes);
  if (blocks_) scaleMessages(plan_, runs, plan, blocks_->table.bandwidth, costs);
  if (changes.keepsBatch) {
    const double size = static_cast<double>(plan_.numMicroBatches) / plan.numMicroBatches;
    for (StageCosts& stage : costs.stages) scaleMicroBatch(stage, size);
    if (messagesScale_ || changes.scalesMessages) {
      costs.transfer = scaled(costs.transfer, size);
      for (Faults::Link& link : costs.faults.links) link.transfer = scaled(link.transfer, size);
    }
  }
  std::vector<bool> recomputes;
  for (const StageCosts& stage : costs.stages) recomputes.push_back(stage.recompute > 0);
  return withRecompute(plan, recomputes);
}

}  // namespace pipetrace
