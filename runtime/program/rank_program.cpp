#include "runtime/program/rank_program.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/program/reduction_order.h"
#include "runtime/program/tensor_routes.h"
#include "schedule/action.h"
#include "schedule/add_transfers.h"
#include "schedule/check/weight_versions.h"
#include "schedule/plan.h"
#include "schedule/planned_message.h"
#include "schedule/with_reductions.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

/// Whether the action runs that pass of a stage.
inline bool runs(const Action& action, bool forward, int stage) {
  const bool isPair = action.kind == JobKind::kForwardBackward;
  if (forward) return (isPair || action.kind == JobKind::kForward) && action.stage == stage;
  if (isPair) return action.backwardStage == stage;
  const bool isBackward =
      action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardInput;
  return isBackward && action.stage == stage;
}

/// The micro-batch of its forward part, or of its backward part.
inline int microBatchOf(const Action& action, bool forward) {
  const bool isPair = action.kind == JobKind::kForwardBackward;
  return isPair && !forward ? action.backwardMicroBatch : action.microBatch;
}

/// The routes of a pipeline, with the numbers of their lanes.
class NumberedRoutes {
 public:
  struct Route : TensorRoute {
    int tensor = 0;  ///< LaneName::tensor
  };

  NumberedRoutes(const TensorRoutes& routes, int numStages) {
    std::vector<bool> isLinked(static_cast<std::size_t>(numStages));
    for (const TensorRoute& route : routes) {
      if (route.from < 0 || route.to <= route.from || route.to >= numStages) {
        throw Error("a tensor cannot go from stage " + std::to_string(route.from) + " to stage " +
                    std::to_string(route.to) + " of " + std::to_string(numStages));
      }
      const auto from = static_cast<std::size_t>(route.from);
      const bool isPlanned = route.to == route.from + 1 && route.hasGradient && !isLinked[from];
      if (isPlanned) isLinked[from] = true;
      routes_.push_back({route, isPlanned ? 0 : ++others_});
    }
    for (int stage = 0; stage + 1 < numStages; ++stage) {
      if (isLinked[static_cast<std::size_t>(stage)]) continue;
      throw Error("no tensor with a gradient goes from stage " + std::to_string(stage) +
                  " to stage " + std::to_string(stage + 1));
    }
  }

  const std::vector<Route>& all() const { return routes_; }

  /// The route of a plan's message.
  std::size_t planned(int from, int to) const {
    const auto found = std::find_if(routes_.begin(), routes_.end(), [&](const Route& route) {
      return route.from == from && route.to == to && route.tensor == 0;
    });
    return static_cast<std::size_t>(found - routes_.begin());
  }

 private:
  std::vector<Route> routes_;
  int others_ = 0;
};

/// The number of a rank's lane to or from another one, of the name that the caller knows.
using LaneTo = std::function<int(bool sends, int peer)>;

/// How a rank of the plan agrees with all others.
RankProgram::ScalarAllReduce scalarAllReduceOf(const Plan& plan, int rank, const LaneTo& laneTo) {
  std::vector<std::vector<int>> stages(plan.ranks.size());  // by the first of their ranks
  for (int stage = 0; stage < plan.numStages; ++stage) {
    stages[static_cast<std::size_t>(plan.placement.firstRankOf(stage))].push_back(stage);
  }
  RankProgram::ScalarAllReduce own{.stages = stages[static_cast<std::size_t>(rank)]};
  const MessageKey key{.kind = MessageKind::kScalarAllReduce};
  const auto endsWith = [&](int peer) {
    return RankProgram::ScalarAllReduce::Ends{.send = {.lane = laneTo(true, peer), .key = key},
                                              .receive = {.lane = laneTo(false, peer), .key = key}};
  };
  for (int other = 0; other < plan.numRanks(); ++other) {
    own.members += (other == 0 ? "" : " ") + std::to_string(other);
    if (rank != 0 || other == 0) continue;
    own.others.push_back({stages[static_cast<std::size_t>(other)], endsWith(other)});
  }
  if (rank != 0) own.root = endsWith(0);
  return own;
}

/// How the ranks of the last stage add up their figures, in a plan without backward passes or with
/// metrics. Nullopt for other ranks, and for the only one of that stage.
std::optional<RankProgram::LossSum> lossSumOf(const Plan& plan, bool hasMetrics, int rank,
                                              const LaneTo& laneTo) {
  const std::vector<int> ranks = plan.ranksOf(plan.numStages - 1);
  const bool isOne = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  const bool isNeeded = plan.isForwardOnly() || hasMetrics;
  if (ranks.size() == 1 || !isOne || !isNeeded) return std::nullopt;
  const MessageKey key{.kind = MessageKind::kLosses};
  RankProgram::LossSum own;
  const int first = plan.lastRankOf(0);
  if (rank != first) {
    own.to = {.lane = laneTo(true, first), .key = key};
    return own;
  }
  for (const int other : ranks) {
    if (other == first) continue;
    own.from.push_back({.opensReplica = other == plan.lastRankOf(plan.replicaOf(other)),
                        .message = {.lane = laneTo(false, other), .key = key}});
  }
  return own;
}

class Builder {
 public:
  Builder(const Plan& full, int rank, const WorkFlow& flow)
      : plan_(full),
        rank_(rank),
        flow_(flow),
        routes_(flow.routes.empty() ? chainRoutes(full.numStages) : flow.routes, full.numStages),
        stages_(full.stagesOfRank(rank)) {
    program_.credits = plan_.credits;
    program_.opensWithLr = !plan_.isForwardOnly();
    program_.updatesAtEnd = program_.opensWithLr && !plan_.isAsynchronous();
    for (const WeightVersions::Update& update : weightVersions(plan_).updates) {
      if (update.after.rank == rank_) updatesAfter_[update.after.cell].push_back(update.stage);
    }
  }

  RankProgram build() {
    const std::vector<Action>& actions = plan_.ranks[static_cast<std::size_t>(rank_)];
    // The jobs first: a receive stands before the job that needs its message.
    for (const Action& action : actions) {
      if (!isTransfer(action.kind) && !isDataParallel(action.kind)) addJob(action);
    }
    addStageReplicas();
    int job = 0;
    for (std::size_t cell = 0; cell < actions.size(); ++cell) {
      const Action& action = actions[cell];
      if (isTransfer(action.kind)) {
        addTransfer(action);
        continue;
      }
      addOtherSends();
      if (isDataParallel(action.kind)) {
        // Where several updates follow each other, each sum begins after the update before it.
        if (begun_ == RankProgram::kNone) begun_ = addReduction(action.stage);
        if (!plan_.isAsynchronous()) begun_ = RankProgram::kNone;
        continue;
      }
      addUpdates();
      postOthersOf(job);
      postOthersOf(job + 1);
      program_.items.push_back({Kind::kJob, job});
      sendsDue_ = othersMadeBy_[static_cast<std::size_t>(job++)];
      if (const auto due = updatesAfter_.find(static_cast<int>(cell)); due != updatesAfter_.end()) {
        pending_ = due->second;
      }
    }
    addOtherSends();
    addUpdates();
    program_.exchanges = exchangesOf(plan_, program_);
    addRows();
    addTies();
    addHostSums();
    addAcknowledgements();
    return std::move(program_);
  }

 private:
  using Kind = RankProgram::Item::Kind;

  /// A tensor of one micro-batch, or its gradient.
  struct Tensor {
    bool forward = true;
    std::size_t route = 0;
    int microBatch = 0;
    auto operator<=>(const Tensor&) const = default;
  };
  /// Where a job has it.
  struct End {
    int job = 0;
    std::size_t slot = 0;
  };

  int chunkOf(int stage) const {
    return static_cast<int>(std::lower_bound(stages_.begin(), stages_.end(), stage) -
                            stages_.begin());
  }

  void addJob(const Action& action) {
    const int index = static_cast<int>(program_.jobs.size());
    RankProgram::Job job{
        .action = action, .text = toText(plan_.inReplica(action)), .chunk = chunkOf(action.stage)};
    const bool isPair = action.kind == JobKind::kForwardBackward;
    if (isPair) job.backwardChunk = chunkOf(action.backwardStage);
    program_.jobs.push_back(std::move(job));
    othersFor_.emplace_back();
    othersMadeBy_.emplace_back();
    for (const bool forward : {true, false}) {
      const int stage = isPair && !forward ? action.backwardStage : action.stage;
      if (runs(action, forward, stage)) addPlaces(index, forward, stage);
    }
  }

  void addPlaces(int index, bool forward, int stage) {
    RankProgram::Job& job = program_.jobs[static_cast<std::size_t>(index)];
    RankProgram::Places& places = job.places[forward ? 0 : 1];
    const int microBatch = microBatchOf(job.action, forward);
    for (std::size_t r = 0; r < routes_.all().size(); ++r) {
      const NumberedRoutes::Route& route = routes_.all()[r];
      if (!forward && !route.hasGradient) continue;
      const Tensor tensor{forward, r, microBatch};
      const int maker = forward ? route.from : route.to;
      const int user = forward ? route.to : route.from;
      const bool isOther = route.tensor != 0;
      if (user == stage) {
        if (!job.action.isFirstPart()) continue;
        const End end{index, places.inputs.size()};
        places.inputs.push_back({.kept = keptIf(plan_.rankOf(maker, microBatch), tensor)});
        if (places.inputs.back().kept != RankProgram::kNone) continue;
        userOf_[tensor] = end;
        if (isOther) othersFor_[static_cast<std::size_t>(index)].push_back(tensor);
      } else if (maker == stage) {
        if (!job.action.isLastPart()) continue;
        const End end{index, places.outputs.size()};
        places.outputs.push_back({.kept = keptIf(plan_.rankOf(user, microBatch), tensor)});
        if (places.outputs.back().kept != RankProgram::kNone) continue;
        makerOf_[tensor] = end;
        if (isOther) othersMadeBy_[static_cast<std::size_t>(index)].push_back(tensor);
      }
    }
  }

  /// The number of a tensor that stays on this rank.
  int keptIf(int otherRank, const Tensor& tensor) {
    if (otherRank != rank_) return RankProgram::kNone;
    const auto [found, isNew] = kept_.emplace(tensor, program_.kept);
    if (isNew) ++program_.kept;
    return found->second;
  }

  int laneOf(bool sends, int peer, const LaneName& name) {
    const auto [found, isNew] =
        laneOf_.emplace(std::tuple(sends, peer, name), static_cast<int>(program_.lanes.size()));
    if (isNew) program_.lanes.push_back({.sends = sends, .peer = peer, .name = name});
    ++program_.lanes[static_cast<std::size_t>(found->second)].messages;
    return found->second;
  }

  /// The plan's own message.
  void addTransfer(const Action& action) {
    const PlannedMessage message = messageOf(action);
    const std::size_t route = message.forward ? routes_.planned(message.from, message.to())
                                              : routes_.planned(message.to(), message.from);
    addTransfer(isSend(action.kind), {message.forward, route, message.microBatch});
  }

  void addTransfer(bool sends, const Tensor& tensor) {
    const NumberedRoutes::Route& route = routes_.all()[tensor.route];
    const int maker = tensor.forward ? route.from : route.to;
    const int user = tensor.forward ? route.to : route.from;
    const int peer = plan_.rankOf(sends ? user : maker, tensor.microBatch);
    const MessageKind kind = tensor.forward ? MessageKind::kActivations : MessageKind::kGradients;
    const int index = static_cast<int>(program_.transfers.size());
    const End end = (sends ? makerOf_ : userOf_).at(tensor);
    RankProgram::Job& job = program_.jobs[static_cast<std::size_t>(end.job)];
    RankProgram::Places& places = job.places[tensor.forward ? 0 : 1];
    (sends ? places.outputs : places.inputs)[end.slot].transfer = index;
    if (!sends && tensor.forward && route.tensor == 0) job.credit = index;
    program_.transfers.push_back({.lane = laneOf(sends, peer, {kind, route.tensor}),
                                  .key = {.stage = user,
                                          .microBatch = tensor.microBatch,
                                          .kind = kind,
                                          .tensor = route.tensor},
                                  .job = end.job,
                                  .stage = sends ? maker : user});
    program_.items.push_back({sends ? Kind::kSend : Kind::kReceive, index});
  }

  void addOtherSends() {
    for (const Tensor& tensor : std::exchange(sendsDue_, {})) addTransfer(true, tensor);
  }

  /// Posts the receives of a job's tensors beside the plan's. Those that their lane brings before
  /// come first: a sender's order need not be that of this rank.
  void postOthersOf(int job) {
    if (job >= static_cast<int>(program_.jobs.size())) return;
    for (const Tensor& tensor : othersFor_[static_cast<std::size_t>(job)]) {
      OtherLane& lane = otherLane(tensor);
      const auto due = std::find(lane.order.begin(), lane.order.end(), tensor.microBatch);
      const auto number = static_cast<std::size_t>(due - lane.order.begin());
      while (lane.posted <= number) {
        addTransfer(false, {tensor.forward, tensor.route, lane.order[lane.posted++]});
      }
    }
  }

  /// A lane brings these micro-batches of a tensor, in the order in which they are sent.
  struct OtherLane {
    std::vector<int> order;
    std::size_t posted = 0;
  };
  OtherLane& otherLane(const Tensor& tensor) {
    const NumberedRoutes::Route& route = routes_.all()[tensor.route];
    const int maker = tensor.forward ? route.from : route.to;
    const int user = tensor.forward ? route.to : route.from;
    const int sender = plan_.rankOf(maker, tensor.microBatch);
    const auto [found, isNew] =
        otherLanes_.try_emplace(std::tuple(sender, tensor.forward, tensor.route));
    if (!isNew) return found->second;
    for (const Action& action : plan_.ranks[static_cast<std::size_t>(sender)]) {
      if (!runs(action, tensor.forward, maker) || !action.isLastPart()) continue;
      const int microBatch = microBatchOf(action, tensor.forward);
      if (plan_.rankOf(user, microBatch) == rank_) found->second.order.push_back(microBatch);
    }
    return found->second;
  }

  /// Updates follow the sends of the backward pass that they follow.
  void addUpdates() {
    for (const int stage : std::exchange(pending_, {})) {
      int reduction = std::exchange(begun_, RankProgram::kNone);
      if (reduction == RankProgram::kNone) reduction = addReduction(stage);
      program_.items.push_back({Kind::kUpdate, static_cast<int>(program_.updates.size())});
      program_.updates.push_back({.stage = stage, .chunk = chunkOf(stage), .reduction = reduction});
    }
  }

  /// A lane back for each lane of activations that the plan sends.
  void addAcknowledgements() {
    if (plan_.credits == 0) return;
    const std::size_t lanes = program_.lanes.size();
    for (std::size_t i = 0; i < lanes; ++i) {
      const RankProgram::Lane lane = program_.lanes[i];
      if (lane.name != LaneName(MessageKind::kActivations)) continue;
      const int back = laneOf(!lane.sends, lane.peer, MessageKind::kAcknowledgement);
      // Up to `credits` of them are not looked at yet when a step ends.
      program_.lanes[static_cast<std::size_t>(back)].messages =
          lane.messages + static_cast<std::size_t>(plan_.credits);
      program_.lanes[i].back = back;
    }
  }

  void addStageReplicas() {
    if (!program_.opensWithLr) return;
    for (const int stage : stages_) {
      RankProgram::StageReplicas replicas{.stage = stage, .chunk = chunkOf(stage)};
      const MessageKey key{.stage = stage, .kind = MessageKind::kStageGradients};
      for (const int peer : plan_.ranksOf(stage)) {
        if (peer == rank_) continue;
        replicas.peers.push_back(
            {.rank = peer,
             .send = {.lane = laneOf(true, peer, MessageKind::kStageGradients), .key = key},
             .receive = {.lane = laneOf(false, peer, MessageKind::kStageGradients), .key = key}});
      }
      if (replicas.peers.empty()) continue;
      for (const int member : plan_.ranksOf(stage)) {
        replicas.members += (replicas.members.empty() ? "" : " ") + std::to_string(member);
      }
      buckets_.push_back(bucketsOf(plan_.ranks[static_cast<std::size_t>(rank_)], stage));
      if (!buckets_.back().empty()) replicas.buckets = std::ranges::max(buckets_.back()) + 1;
      const int parts = partsOf(plan_.ranks[static_cast<std::size_t>(rank_)], stage);
      replicas.areOfParts = parts > 1 && parts == replicas.buckets;
      program_.stageReplicas.push_back(std::move(replicas));
    }
  }

  /// Returns its index; kNone: the stage is on one rank.
  int addReduction(int stage) {
    for (std::size_t i = 0; i < program_.stageReplicas.size(); ++i) {
      RankProgram::StageReplicas& replicas = program_.stageReplicas[i];
      if (replicas.stage != stage) continue;
      const auto index = static_cast<int>(program_.reductions.size());
      const auto turn = static_cast<int>(replicas.reductions.size());
      const auto own = buckets_[i].begin() + turn;
      const bool isLast = std::find(own + 1, buckets_[i].end(), *own) == buckets_[i].end();
      program_.items.push_back({Kind::kReduction, index});
      program_.reductions.push_back({.stageReplicas = static_cast<int>(i),
                                     .turn = turn,
                                     .bucket = *own,
                                     .isTrained = isLast || plan_.isAsynchronous()});
      replicas.reductions.push_back(index);
      for (const RankProgram::StageReplicas::Peer& peer : replicas.peers) {
        for (const int lane : {peer.send.lane, peer.receive.lane}) {
          // Two rounds each; laneOf() has counted one message.
          program_.lanes[static_cast<std::size_t>(lane)].messages += turn > 0 ? 2 : 1;
        }
      }
      return index;
    }
    return RankProgram::kNone;
  }

  /// The ranks of the last stage, which always have the batch, tell the first replica's.
  void addRows() {
    program_.replica = plan_.replicaOf(rank_);
    program_.firstMicroBatch = program_.replica * plan_.microBatchesOfReplica();
    if (plan_.replicas == 1 || !program_.opensWithLr) return;
    if (rank_ != plan_.lastRankOf(program_.replica)) return;
    const MessageKey key{.kind = MessageKind::kReplicaRows};
    const auto sum = [&](bool sends, int peer) {
      return RankProgram::Sum{.lane = laneOf(sends, peer, key.kind), .key = key};
    };
    if (program_.replica > 0) program_.rowsTo = sum(true, plan_.lastRankOf(0));
    for (int replica = 1; replica < plan_.replicas && program_.replica == 0; ++replica) {
      program_.rowsFrom.push_back(
          {.replica = replica, .message = sum(false, plan_.lastRankOf(replica))});
    }
  }

  /// The rank that runs a use forward sends its sum to all ranks that have another use only.
  void addTies() {
    if (!program_.opensWithLr) return;
    for (std::size_t tie = 0; tie < flow_.ties.size(); ++tie) {
      const std::vector<int>& uses = flow_.ties[tie];
      for (std::size_t use = 0; use < uses.size(); ++use) {
        for (int to = 0; to < plan_.numRanks(); ++to) addTiedSum(tie, use, to);
      }
    }
  }

  void addTiedSum(std::size_t tie, std::size_t use, int to) {
    const std::vector<int>& uses = flow_.ties[tie];
    const int replica = plan_.replicaOf(to);
    const auto isHeld = [&](int stage) {
      return plan_.placement.holds(to - replica * plan_.ranksOfReplica(), stage);
    };
    if (isHeld(uses[use]) || std::none_of(uses.begin(), uses.end(), isHeld)) return;
    const int from = plan_.placement.firstRankOf(uses[use]) + replica * plan_.ranksOfReplica();
    if (from != rank_ && to != rank_) return;
    const LaneName name(MessageKind::kTiedGradients, static_cast<int>(tie));
    RankProgram::TiedSum sum{.tie = static_cast<int>(tie), .use = static_cast<int>(use)};
    sum.sum.lane = laneOf(from == rank_, from == rank_ ? to : from, name);
    sum.sum.key = {
        .stage = uses[use], .microBatch = sum.use, .kind = name.kind, .tensor = name.tensor};
    (from == rank_ ? program_.tiedSends : program_.tiedReceives).push_back(sum);
  }

  void addHostSums() {
    const auto laneTo = [&](const LaneName& name) {
      return [&, name](bool sends, int peer) { return laneOf(sends, peer, name); };
    };
    program_.lossSum = lossSumOf(plan_, flow_.hasMetrics, rank_, laneTo(MessageKind::kLosses));
    if (!flow_.agrees || !program_.updatesAtEnd) return;
    program_.scalarAllReduce =
        scalarAllReduceOf(plan_, rank_, laneTo(MessageKind::kScalarAllReduce));
  }

  const Plan& plan_;
  const int rank_;
  const WorkFlow& flow_;
  const NumberedRoutes routes_;
  const std::vector<int> stages_;
  RankProgram program_;
  std::vector<std::vector<int>> buckets_;         // by stage replicas and turn
  std::map<int, std::vector<int>> updatesAfter_;  // by cell: stages
  std::vector<int> pending_;                      // stages whose update is due
  int begun_ = RankProgram::kNone;                // the reduction of the first of them
  std::map<Tensor, int> kept_;
  std::map<Tensor, End> makerOf_;  // jobs of this rank
  std::map<Tensor, End> userOf_;
  // Beside the plan's own, by job.
  std::vector<std::vector<Tensor>> othersFor_;
  std::vector<std::vector<Tensor>> othersMadeBy_;
  std::vector<Tensor> sendsDue_;
  std::map<std::tuple<int, bool, std::size_t>, OtherLane> otherLanes_;
  std::map<std::tuple<bool, int, LaneName>, int> laneOf_;
};

}  // namespace

CheckedPlan fullPlan(const CheckedPlan& plan, int ahead) {
  Plan full = plan->hasAny(isTransfer)
                  ? *plan
                  : addTransfers(plan, {.ahead = std::max(ahead, plan->credits)});
  return CheckedPlan(asRanksRun(std::move(full)));
}

RankProgram rankProgram(const CheckedPlan& plan, int rank, int ahead, const WorkFlow& flow) {
  const CheckedPlan full = fullPlan(plan, ahead);
  RankProgram program = Builder(*full, rank, flow).build();
  program.postsAreOwn = plan->hasAny(isTransfer);
  return program;
}

}  // namespace pipetrace
