#include "schedule/plan_index.h"

#include <cstdint>

namespace pipetrace {
namespace {

std::string work(int stage, const char* letter, int microBatch) {
  return std::to_string(stage) + letter + std::to_string(microBatch);
}

constexpr const char* kPassLetters[] = {"F", "B", "W"};

std::int64_t actionCount(const Schedule& schedule) {
  std::int64_t count = 0;
  for (const auto& actions : schedule.ranks) count += static_cast<std::int64_t>(actions.size());
  return count;
}

}  // namespace

PlanIndex::PlanIndex(const Schedule& schedule) : schedule_(schedule) {
  if (!isOfSaneSize()) return;
  table_.resize(static_cast<std::size_t>(schedule.numStages) *
                static_cast<std::size_t>(schedule.numMicroBatches) * kPassCount);
  addActions();
  findMissing();
}

bool PlanIndex::isOfSaneSize() {
  const auto refuse = [&](std::string why) {
    problems_.push_back({.message = std::move(why)});
    return false;
  };
  const int stages = schedule_.numStages;
  const int microBatches = schedule_.numMicroBatches;
  if (stages < 1 || microBatches < 1) return refuse("the plan is empty");
  const auto hasAll = [&](const std::vector<int>& places) {
    return places.size() == static_cast<std::size_t>(stages);
  };
  if (!hasAll(schedule_.rankOfStage) ||
      (schedule_.isBidirectional() && !hasAll(schedule_.rankOfStageReversed))) {
    return refuse("the plan does not say which rank runs each of its stages");
  }
  // One number with a digit too many must not make a list of millions of missing actions.
  const std::int64_t needed = static_cast<std::int64_t>(stages) * microBatches;
  const std::int64_t actions = actionCount(schedule_);
  if (needed <= 4 * actions + 1024) return true;
  return refuse(std::to_string(stages) + " stages and " + std::to_string(microBatches) +
                " micro-batches need " + std::to_string(needed) + " forwards, but the plan has " +
                std::to_string(actions) + " actions in all; is a number too large?");
}

void PlanIndex::addActions() {
  for (int rank = 0; rank < schedule_.numRanks(); ++rank) {
    const auto& list = schedule_.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < list.size(); ++i) {
      addAction(list[i], {rank, static_cast<int>(i)});
    }
  }
}

bool PlanIndex::inRange(int stage, int microBatch) const {
  return stage >= 0 && stage < schedule_.numStages && microBatch >= 0 &&
         microBatch < schedule_.numMicroBatches;
}

std::size_t PlanIndex::cellOf(int stage, int microBatch) const {
  return static_cast<std::size_t>(stage) * static_cast<std::size_t>(schedule_.numMicroBatches) +
         static_cast<std::size_t>(microBatch);
}

std::size_t PlanIndex::transferCell(const PlannedMessage& message, bool sends) const {
  return cellOf(message.from, message.microBatch) * 4 + (message.forward ? 0U : 2U) +
         (sends ? 0U : 1U);
}

PlanIndex::Position PlanIndex::find(Pass pass, int stage, int microBatch) const {
  if (table_.empty() || !inRange(stage, microBatch)) return {};
  return table_[cellOf(stage, microBatch) * kPassCount + pass];
}

PlanIndex::Position PlanIndex::findTransfer(const PlannedMessage& message, bool sends) const {
  if (transfers_.empty() || !inRange(message.from, message.microBatch)) return {};
  return transfers_[transferCell(message, sends)];
}

PlanIndex::Position PlanIndex::sendAt(const PlannedMessage& message) const {
  return findTransfer(message, true);
}

PlanIndex::Position PlanIndex::receiveAt(const PlannedMessage& message) const {
  return findTransfer(message, false);
}

PlanIndex::Position PlanIndex::makerOf(const PlannedMessage& message) const {
  return find(message.forward ? kForwardPass : kBackwardPass, message.from, message.microBatch);
}

PlanIndex::Position PlanIndex::userOf(const PlannedMessage& message) const {
  return find(message.forward ? kForwardPass : kBackwardPass, message.to(), message.microBatch);
}

bool PlanIndex::crossesRanks(const PlannedMessage& message) const {
  return inRange(message.from, message.microBatch) && inRange(message.to(), message.microBatch) &&
         schedule_.rankOf(message.from, message.microBatch) !=
             schedule_.rankOf(message.to(), message.microBatch);
}

void PlanIndex::put(Position& slot, Position position) {
  if (!slot.exists()) {
    slot = position;
    return;
  }
  problems_.push_back({position.rank, position.cell,
                       toText(at(position)) + " is done already by rank " +
                           std::to_string(slot.rank) + ", cell " + std::to_string(slot.cell) +
                           " (" + toText(at(slot)) + ")"});
}

void PlanIndex::addWork(Pass pass, int stage, int microBatch, Position position) {
  if (inRange(stage, microBatch)) {
    put(table_[cellOf(stage, microBatch) * kPassCount + pass], position);
    return;
  }
  problems_.push_back({position.rank, position.cell,
                       toText(at(position)) + " is out of range: the plan has " +
                           std::to_string(schedule_.numStages) + " stages and " +
                           std::to_string(schedule_.numMicroBatches) + " micro-batches"});
}

void PlanIndex::addTransfer(const Action& action, Position position) {
  if (!inRange(action.stage, action.microBatch)) {
    problems_.push_back({position.rank, position.cell, toText(action) + " is out of range"});
    return;
  }
  if (transfers_.empty()) transfers_.resize(table_.size() / kPassCount * 4);
  const PlannedMessage message = messageOf(action);
  if (crossesRanks(message)) {
    put(transfers_[transferCell(message, isSend(action.kind))], position);
    return;
  }
  const int other = isSend(action.kind) ? message.to() : message.from;
  const bool isStage = other >= 0 && other < schedule_.numStages;
  problems_.push_back({position.rank, position.cell,
                       toText(action) + " has no message to move: stage " + std::to_string(other) +
                           (isStage ? " is on the same rank" : " does not exist")});
}

void PlanIndex::addAction(const Action& action, Position position) {
  switch (action.kind) {
    case JobKind::kForward: addWork(kForwardPass, action.stage, action.microBatch, position); break;
    case JobKind::kBackward:
    case JobKind::kBackwardInput:
      addWork(kBackwardPass, action.stage, action.microBatch, position);
      break;
    case JobKind::kBackwardWeight:
      addWork(kWeightPass, action.stage, action.microBatch, position);
      break;
    case JobKind::kForwardBackward:
      addWork(kForwardPass, action.stage, action.microBatch, position);
      addWork(kBackwardPass, action.backwardStage, action.backwardMicroBatch, position);
      break;
    default:
      if (isTransfer(action.kind)) return addTransfer(action, position);
      problems_.push_back({position.rank, position.cell,
                           std::string(logName(action.kind)) + " is no action of a plan"});
  }
}

void PlanIndex::findMissing() {
  for (int stage = 0; stage < schedule_.numStages; ++stage) {
    bool hasAny = false;
    for (int m = 0; m < schedule_.numMicroBatches && !hasAny; ++m) {
      for (const Pass pass : {kForwardPass, kBackwardPass, kWeightPass}) {
        hasAny = hasAny || find(pass, stage, m).exists();
      }
    }
    if (!hasAny) {
      problems_.push_back({.message = "stage " + std::to_string(stage) +
                                      " is missing: no rank has any work of it"});
      continue;
    }
    for (int m = 0; m < schedule_.numMicroBatches; ++m) findMissing(stage, m);
  }
}

void PlanIndex::findMissing(int stage, int m) {
  const Position backward = find(kBackwardPass, stage, m);
  const Position weight = find(kWeightPass, stage, m);
  const bool split = backward.exists() && at(backward).kind == JobKind::kBackwardInput;
  if (find(kForwardPass, stage, m).exists() && backward.exists() && split == weight.exists())
    return;

  const int rank = schedule_.rankOf(stage, m);
  for (const Pass pass : {kForwardPass, kBackwardPass}) {
    if (find(pass, stage, m).exists()) continue;
    problems_.push_back({rank, -1, work(stage, kPassLetters[pass], m) + " is missing"});
  }
  if (split && !weight.exists()) {
    problems_.push_back({rank, -1,
                         work(stage, "W", m) + " is missing: the plan has only the half " +
                             work(stage, "I", m) + " of that backward pass"});
  }
  if (!split && backward.exists() && weight.exists()) {
    problems_.push_back({weight.rank, weight.cell,
                         work(stage, "W", m) + " is done already by the whole backward pass " +
                             work(stage, "B", m)});
  }
}

void PlanIndex::Inputs::add(Position position) {
  if (position.exists()) positions[count++] = position;
}

PlanIndex::Inputs PlanIndex::inputsOf(const Action& action) const {
  Inputs inputs;
  const auto addBackward = [&](int stage, int microBatch) {
    inputs.add(find(kForwardPass, stage, microBatch));
    inputs.add(find(kBackwardPass, stage + 1, microBatch));
  };
  switch (action.kind) {
    case JobKind::kForward:
      inputs.add(find(kForwardPass, action.stage - 1, action.microBatch));
      break;
    case JobKind::kBackward:
    case JobKind::kBackwardInput: addBackward(action.stage, action.microBatch); break;
    case JobKind::kBackwardWeight:
      inputs.add(find(kBackwardPass, action.stage, action.microBatch));
      break;
    case JobKind::kForwardBackward:
      inputs.add(find(kForwardPass, action.stage - 1, action.microBatch));
      addBackward(action.backwardStage, action.backwardMicroBatch);
      break;
    default: break;
  }
  return inputs;
}

}  // namespace pipetrace
