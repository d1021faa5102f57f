#include "schedule/simulate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "schedule/check.h"
#include "schedule/plan_index.h"
#include "schedule/plan_order.h"
#include "trace/error.h"
#include "trace/log_format.h"

namespace pipetrace {
namespace {

using Position = PlanIndex::Position;

Nanoseconds costOf(const Action& action, const Costs& costs) {
  const StageCosts& stage = costs.stages[static_cast<std::size_t>(action.stage)];
  switch (action.kind) {
    case JobKind::kForward: return stage.forward;
    case JobKind::kBackward: return stage.backward;
    case JobKind::kBackwardInput: return stage.backwardInput;
    case JobKind::kBackwardWeight: return stage.backwardWeight;
    case JobKind::kForwardBackward:
      return stage.forward + costs.stages[static_cast<std::size_t>(action.backwardStage)].backward;
    default: return 0;
  }
}

PlanOrder runnableOrder(const Schedule& schedule, const PlanIndex& index) {
  if (!index.problems().empty()) requireValid(schedule);
  PlanOrder order = planOrder(schedule, index);
  if (!order.complete) requireValid(schedule);
  return order;
}

class Run {
 public:
  Run(const Schedule& schedule, const Costs& costs, const SimulateOptions& options)
      : schedule_(schedule),
        costs_(costs),
        options_(options),
        index_(schedule),
        order_(runnableOrder(schedule, index_)) {
    actionKey_ = out_.timeline.strings.intern(log_format::kAction);
    free_.assign(schedule.ranks.size(), options.begin);
    nextId_.assign(schedule.ranks.size(), 0);
    started_.assign(schedule.ranks.size(), false);
    for (int rank = 0; rank < schedule.numRanks(); ++rank) addRank(rank);
  }

  Simulation run() {
    for (int step = 0; step < options_.steps; ++step) runStep(step);
    out_.length = *std::max_element(free_.begin(), free_.end()) - options_.begin;
    countLiveActivations();
    out_.timeline.sort();
    for (auto& [rank, info] : out_.timeline.ranks) {
      for (const Track& track : out_.timeline.tracks) {
        if (track.rank == rank) info.written += static_cast<std::int64_t>(track.events.size());
      }
    }
    return std::move(out_);
  }

 private:
  void addRank(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    ends_.emplace_back(schedule_.ranks[r].size());
    out_.ranks.emplace_back();
    Track& track = out_.timeline.track(rank, kComputeLane);
    track.events.reserve((schedule_.ranks[r].size() + 2) *
                         static_cast<std::size_t>(options_.steps));

    RankInfo& info = out_.timeline.ranks[rank];
    info.worldSize = schedule_.numRanks();
    info.numStages = schedule_.numStages;
    info.numMicroBatches = schedule_.numMicroBatches;
    info.schedule = schedule_.name;
    info.dataParallelIndex = 0;
    info.clock = "simulated";
    info.device = "simulated";
    info.hasEnd = true;

    // Of the actions, as a stage may be run by two ranks.
    std::vector<int> stages;
    for (const Action& action : schedule_.ranks[r]) {
      stages.push_back(action.stage);
      if (action.backwardStage >= 0) stages.push_back(action.backwardStage);
    }
    std::sort(stages.begin(), stages.end());
    stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
    info.numChunks = static_cast<int>(stages.size());
    chunks_.push_back(std::move(stages));
  }

  void runStep(int step) {
    if (options_.stepsStartTogether) {
      std::fill(free_.begin(), free_.end(), *std::max_element(free_.begin(), free_.end()));
    }
    step_ = step;
    if (costs_.lr > 0) addToAllRanks(JobKind::kLr, costs_.lr);
    firstId_ = nextId_;
    for (const Position& position : order_.order) runAction(position);
    for (std::size_t r = 0; r < nextId_.size(); ++r) {
      nextId_[r] = firstId_[r] + static_cast<std::int64_t>(schedule_.ranks[r].size());
    }
    if (costs_.optimizer > 0) addToAllRanks(JobKind::kOptimizer, costs_.optimizer);
  }

  void addToAllRanks(JobKind kind, Nanoseconds cost) {
    for (int rank = 0; rank < schedule_.numRanks(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      Event event;
      event.kind = kind;
      event.job = nextId_[r]++;
      event.step = step_;
      event.microBatch = 0;
      event.number = 0;
      event.begin = free_[r];
      event.end = free_[r] += cost;
      out_.timeline.tracks[r].events.push_back(event);
    }
  }

  void runAction(Position position) {
    const auto r = static_cast<std::size_t>(position.rank);
    const Action& action = index_.at(position);
    Nanoseconds& end = ends_[r][static_cast<std::size_t>(position.cell)];
    end = free_[r];
    if (!isCompute(action.kind)) return;

    Event event;
    event.kind = action.kind;
    event.job = idOf(position);
    event.step = step_;
    event.stage = action.stage;
    event.microBatch = action.microBatch;
    event.number = action.microBatch;
    event.chunk = chunkOf(position.rank, action.stage);
    event.begin = free_[r];
    for (const Position& input : index_.inputsOf(action)) {
      event.begin = std::max(event.begin, arrival(input, position));
    }
    event.end = event.begin + costOf(action, costs_);
    const Argument text =
        Argument::ofText(actionKey_, out_.timeline.strings.intern(toText(action)));
    out_.timeline.setArguments(event, {&text, 1});
    out_.timeline.tracks[r].events.push_back(event);

    Simulation::Rank& rank = out_.ranks[r];
    if (!started_[r]) rank.first = event.begin;
    started_[r] = true;
    rank.busy += event.duration();
    rank.last = event.end;
    end = free_[r] = event.end;
  }

  /// When what `from` makes is there for `to`; records the message if it takes time.
  Nanoseconds arrival(Position from, Position to) {
    const Nanoseconds made =
        ends_[static_cast<std::size_t>(from.rank)][static_cast<std::size_t>(from.cell)];
    if (from.rank == to.rank || costs_.transfer == 0) return made;
    const Action& sender = index_.at(from);
    const Action& receiver = index_.at(to);
    // A fused pair takes part in two chains: the one whose other end is this action's neighbour.
    const bool forward = isForwardMessage(sender, receiver);
    Event event;
    event.begin = made;
    event.end = made + costs_.transfer;
    event.step = step_;
    addMessageEnd(event, from, to.rank, forward, true);
    addMessageEnd(event, to, from.rank, forward, false);
    return event.end;
  }

  static bool isForwardMessage(const Action& sender, const Action& receiver) {
    const bool sends = sender.kind == JobKind::kForward || sender.kind == JobKind::kForwardBackward;
    return sends &&
           (receiver.kind == JobKind::kForward ||
            (receiver.kind == JobKind::kForwardBackward && receiver.stage == sender.stage + 1 &&
             receiver.microBatch == sender.microBatch));
  }

  void addMessageEnd(Event event, Position at, int peer, bool forward, bool sends) {
    const Action& action = index_.at(at);
    const bool fusedBackward = !forward && action.kind == JobKind::kForwardBackward;
    event.stage = fusedBackward ? action.backwardStage : action.stage;
    event.microBatch = fusedBackward ? action.backwardMicroBatch : action.microBatch;
    event.chunk = chunkOf(at.rank, event.stage);
    event.peer = peer;
    event.job = idOf(at);
    if (sends) {
      event.kind = forward ? JobKind::kSendForward : JobKind::kSendBackward;
    } else {
      event.kind = forward ? JobKind::kRecvForward : JobKind::kRecvBackward;
    }
    out_.timeline.track(at.rank, sends ? kSendLane : kRecvLane).events.push_back(event);
  }

  std::int64_t idOf(Position position) const {
    return firstId_[static_cast<std::size_t>(position.rank)] + position.cell;
  }

  std::int16_t chunkOf(int rank, int stage) const {
    const std::vector<int>& stages = chunks_[static_cast<std::size_t>(rank)];
    const auto found = std::lower_bound(stages.begin(), stages.end(), stage);
    return static_cast<std::int16_t>(found - stages.begin());
  }

  /// The order of a rank's actions decides alone: it takes at a forward's start and frees at a
  /// backward's end.
  void countLiveActivations() {
    for (std::size_t r = 0; r < schedule_.ranks.size(); ++r) {
      int live = 0;
      for (const Action& action : schedule_.ranks[r]) {
        const bool fused = action.kind == JobKind::kForwardBackward;
        if (fused || action.kind == JobKind::kForward) ++live;
        out_.ranks[r].peakLive = std::max(out_.ranks[r].peakLive, live);
        if (fused || action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardWeight) {
          --live;
        }
      }
    }
  }

  const Schedule& schedule_;
  const Costs& costs_;
  const SimulateOptions& options_;
  PlanIndex index_;
  PlanOrder order_;
  Simulation out_;
  StringId actionKey_ = 0;
  std::int32_t step_ = 0;
  std::vector<Nanoseconds> free_;               // by rank: when it can do its next job
  std::vector<std::vector<Nanoseconds>> ends_;  // by rank and cell, of the current step
  std::vector<std::int64_t> nextId_;            // by rank
  std::vector<std::int64_t> firstId_;           // by rank: the id of the step's first action
  std::vector<bool> started_;                   // by rank: whether it has done a compute job
  std::vector<std::vector<int>> chunks_;        // by rank: its stages
};

}  // namespace

Simulation simulate(const Schedule& schedule, const Costs& costs, const SimulateOptions& options) {
  if (costs.stages.size() < static_cast<std::size_t>(schedule.numStages)) {
    throw Error("cannot simulate " + schedule.name + ": costs are given for " +
                std::to_string(costs.stages.size()) + " stages, and it has " +
                std::to_string(schedule.numStages));
  }
  return Run(schedule, costs, options).run();
}

}  // namespace pipetrace
