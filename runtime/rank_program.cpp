#include "runtime/rank_program.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "schedule/add_transfers.h"
#include "schedule/check/weight_versions.h"
#include "schedule/planned_message.h"

namespace pipetrace {
namespace {

bool hasTransfers(const Plan& plan) {
  return std::any_of(plan.ranks.begin(), plan.ranks.end(), [](const auto& actions) {
    return std::any_of(actions.begin(), actions.end(),
                       [](const Action& action) { return isTransfer(action.kind); });
  });
}

class Builder {
 public:
  Builder(const Plan& full, int rank) : plan_(full), rank_(rank), stages_(full.stagesOfRank(rank)) {
    program_.credits = plan_.credits;
    program_.opensWithLr = !plan_.isForwardOnly();
    program_.updatesAtEnd = program_.opensWithLr && plan_.updates.every == 0;
    for (const WeightVersions::Update& update : weightVersions(plan_).updates) {
      if (update.after.rank == rank_) updatesAfter_[update.after.cell].push_back(update.stage);
    }
  }

  RankProgram build() {
    const std::vector<Action>& actions = plan_.ranks[static_cast<std::size_t>(rank_)];
    // The jobs first: a receive stands before the job that needs its message.
    for (const Action& action : actions) {
      if (!isTransfer(action.kind)) addJob(action);
    }
    int job = 0;
    for (std::size_t cell = 0; cell < actions.size(); ++cell) {
      const Action& action = actions[cell];
      if (isTransfer(action.kind)) {
        addTransfer(action);
        continue;
      }
      addUpdates();
      program_.items.push_back({RankProgram::Item::Kind::kJob, job++});
      if (const auto due = updatesAfter_.find(static_cast<int>(cell)); due != updatesAfter_.end()) {
        pending_ = due->second;
      }
    }
    addUpdates();
    addCopies();
    addAcknowledgements();
    return std::move(program_);
  }

 private:
  using Message = std::tuple<bool, int, int>;  // forward, from, micro-batch
  static Message nameOf(const PlannedMessage& message) {
    return {message.forward, message.from, message.microBatch};
  }

  int chunkOf(int stage) const {
    return static_cast<int>(std::lower_bound(stages_.begin(), stages_.end(), stage) -
                            stages_.begin());
  }

  bool exists(const PlannedMessage& message) const {
    const auto isStage = [&](int stage) { return stage >= 0 && stage < plan_.numStages; };
    return isStage(message.from) && isStage(message.to());
  }

  void addJob(const Action& action) {
    const int index = static_cast<int>(program_.jobs.size());
    RankProgram::Job job{.action = action, .text = toText(action), .chunk = chunkOf(action.stage)};
    if (action.kind == JobKind::kForwardBackward) job.backwardChunk = chunkOf(action.backwardStage);
    for (const PlannedMessage& message : messagesTo(action)) {
      if (!exists(message)) continue;
      if (plan_.rankOf(message.from, message.microBatch) == rank_) {
        job.inputs[message.forward ? 0 : 1].kept = keptOf(message);
      } else {
        userOf_[nameOf(message)] = index;
      }
    }
    for (const PlannedMessage& message : messagesFrom(action)) {
      if (!exists(message)) continue;
      if (plan_.rankOf(message.to(), message.microBatch) == rank_) {
        job.outputs[message.forward ? 0 : 1].kept = keptOf(message);
      } else {
        makerOf_[nameOf(message)] = index;
      }
    }
    program_.jobs.push_back(std::move(job));
  }

  int keptOf(const PlannedMessage& message) {
    const auto [found, isNew] = kept_.emplace(nameOf(message), program_.kept);
    if (isNew) ++program_.kept;
    return found->second;
  }

  int laneOf(bool sends, int peer, Direction direction) {
    const auto [found, isNew] = laneOf_.emplace(std::tuple(sends, peer, direction),
                                                static_cast<int>(program_.lanes.size()));
    if (isNew) program_.lanes.push_back({.sends = sends, .peer = peer, .direction = direction});
    ++program_.lanes[static_cast<std::size_t>(found->second)].messages;
    return found->second;
  }

  void addTransfer(const Action& action) {
    const PlannedMessage message = messageOf(action);
    const bool sends = isSend(action.kind);
    const int peer = plan_.rankOf(sends ? message.to() : message.from, message.microBatch);
    const Direction direction = message.forward ? Direction::kForward : Direction::kBackward;
    const int index = static_cast<int>(program_.transfers.size());
    const int job = (sends ? makerOf_ : userOf_).at(nameOf(message));
    RankProgram::Job& end = program_.jobs[static_cast<std::size_t>(job)];
    (sends ? end.outputs : end.inputs)[message.forward ? 0 : 1].transfer = index;
    program_.transfers.push_back(
        {.lane = laneOf(sends, peer, direction),
         .key = {.stage = message.to(), .microBatch = message.microBatch, .direction = direction},
         .job = job});
    using Kind = RankProgram::Item::Kind;
    program_.items.push_back({sends ? Kind::kSend : Kind::kReceive, index});
  }

  /// Updates follow the sends of the backward pass that they follow.
  void addUpdates() {
    for (const int stage : std::exchange(pending_, {})) {
      program_.items.push_back(
          {RankProgram::Item::Kind::kUpdate, static_cast<int>(program_.updates.size())});
      program_.updates.push_back({.stage = stage, .chunk = chunkOf(stage)});
    }
  }

  /// A lane back for each lane of activations.
  void addAcknowledgements() {
    if (plan_.credits == 0) return;
    const std::size_t lanes = program_.lanes.size();
    for (std::size_t i = 0; i < lanes; ++i) {
      const RankProgram::Lane lane = program_.lanes[i];
      if (lane.direction != Direction::kForward) continue;
      const int back = laneOf(!lane.sends, lane.peer, Direction::kAcknowledgement);
      // Up to `credits` of them are not looked at yet when a step ends.
      program_.lanes[static_cast<std::size_t>(back)].messages =
          lane.messages + static_cast<std::size_t>(plan_.credits);
      program_.lanes[i].back = back;
    }
  }

  void addCopies() {
    if (!plan_.isBidirectional() || !program_.opensWithLr) return;
    for (const int stage : stages_) {
      const auto s = static_cast<std::size_t>(stage);
      const int peer =
          plan_.rankOfStage[s] == rank_ ? plan_.rankOfStageReversed[s] : plan_.rankOfStage[s];
      if (peer == rank_) continue;
      program_.copies.push_back({.stage = stage,
                                 .send = laneOf(true, peer, Direction::kBetweenCopies),
                                 .receive = laneOf(false, peer, Direction::kBetweenCopies)});
    }
  }

  const Plan& plan_;
  const int rank_;
  const std::vector<int> stages_;
  RankProgram program_;
  std::map<int, std::vector<int>> updatesAfter_;  // by cell: stages
  std::vector<int> pending_;                      // stages whose update is due
  std::map<Message, int> kept_;
  std::map<Message, int> makerOf_;  // jobs of this rank
  std::map<Message, int> userOf_;
  std::map<std::tuple<bool, int, Direction>, int> laneOf_;
};

}  // namespace

CheckedPlan fullPlan(const CheckedPlan& plan, int ahead) {
  if (hasTransfers(*plan)) return plan;
  return addTransfers(plan, {.ahead = std::max(ahead, plan->credits)});
}

RankProgram rankProgram(const CheckedPlan& plan, int rank, int ahead) {
  const CheckedPlan full = fullPlan(plan, ahead);
  RankProgram program = Builder(*full, rank).build();
  program.postsAreOwn = hasTransfers(*plan);
  return program;
}

}  // namespace pipetrace
