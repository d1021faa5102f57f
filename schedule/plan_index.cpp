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

std::string toText(const Problem& problem) {
  std::string text;
  if (problem.rank >= 0) text += "rank " + std::to_string(problem.rank);
  if (problem.cell >= 0) text += ", cell " + std::to_string(problem.cell);
  return text.empty() ? problem.message : text + ": " + problem.message;
}

PlanIndex::PlanIndex(const Schedule& schedule) : schedule_(schedule) {
  const std::int64_t needed =
      static_cast<std::int64_t>(schedule.numStages) * schedule.numMicroBatches;
  const std::int64_t actions = actionCount(schedule);
  if (schedule.numStages < 1 || schedule.numMicroBatches < 1) {
    problems_.push_back({.message = "the plan is empty"});
    return;
  }
  if (schedule.rankOfStage.size() != static_cast<std::size_t>(schedule.numStages)) {
    problems_.push_back({.message = "the plan does not say which rank runs each of its stages"});
    return;
  }
  // One number with a digit too many must not make a list of millions of missing actions.
  if (needed > 4 * actions + 1024) {
    problems_.push_back({.message = std::to_string(schedule.numStages) + " stages and " +
                                    std::to_string(schedule.numMicroBatches) +
                                    " micro-batches need " + std::to_string(needed) +
                                    " forwards, but the plan has " + std::to_string(actions) +
                                    " actions in all; is a number too large?"});
    return;
  }
  table_.resize(static_cast<std::size_t>(needed) * kPassCount);
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    const auto& list = schedule.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < list.size(); ++i) {
      addAction(list[i], {rank, static_cast<int>(i)});
    }
  }
  findMissing();
}

bool PlanIndex::inRange(int stage, int microBatch) const {
  return stage >= 0 && stage < schedule_.numStages && microBatch >= 0 &&
         microBatch < schedule_.numMicroBatches;
}

std::size_t PlanIndex::slotOf(Pass pass, int stage, int microBatch) const {
  const auto cell =
      static_cast<std::size_t>(stage) * static_cast<std::size_t>(schedule_.numMicroBatches) +
      static_cast<std::size_t>(microBatch);
  return cell * kPassCount + pass;
}

PlanIndex::Position PlanIndex::find(Pass pass, int stage, int microBatch) const {
  if (table_.empty() || !inRange(stage, microBatch)) return {};
  return table_[slotOf(pass, stage, microBatch)];
}

void PlanIndex::add(Pass pass, int stage, int microBatch, Position position) {
  const std::string text = toText(at(position));
  if (!inRange(stage, microBatch)) {
    problems_.push_back({position.rank, position.cell,
                         text + " is out of range: the plan has " +
                             std::to_string(schedule_.numStages) + " stages and " +
                             std::to_string(schedule_.numMicroBatches) + " micro-batches"});
    return;
  }
  Position& known = table_[slotOf(pass, stage, microBatch)];
  if (known.exists()) {
    problems_.push_back({position.rank, position.cell,
                         text + " is done already by rank " + std::to_string(known.rank) +
                             ", cell " + std::to_string(known.cell) + " (" + toText(at(known)) +
                             ")"});
    return;
  }
  known = position;
}

void PlanIndex::addAction(const Action& action, Position position) {
  switch (action.kind) {
    case JobKind::kForward: add(kForwardPass, action.stage, action.microBatch, position); break;
    case JobKind::kBackward:
    case JobKind::kBackwardInput:
      add(kBackwardPass, action.stage, action.microBatch, position);
      break;
    case JobKind::kBackwardWeight:
      add(kWeightPass, action.stage, action.microBatch, position);
      break;
    case JobKind::kForwardBackward:
      add(kForwardPass, action.stage, action.microBatch, position);
      add(kBackwardPass, action.backwardStage, action.backwardMicroBatch, position);
      break;
    default:
      if (!isTransfer(action.kind)) {
        problems_.push_back({position.rank, position.cell,
                             std::string(logName(action.kind)) + " is no action of a plan"});
      } else if (!inRange(action.stage, action.microBatch)) {
        problems_.push_back({position.rank, position.cell, toText(action) + " is out of range"});
      }
  }
}

void PlanIndex::findMissing() {
  for (int stage = 0; stage < schedule_.numStages; ++stage) {
    const int rank = schedule_.rankOfStage[static_cast<std::size_t>(stage)];
    for (int m = 0; m < schedule_.numMicroBatches; ++m) {
      for (const Pass pass : {kForwardPass, kBackwardPass}) {
        if (find(pass, stage, m).exists()) continue;
        problems_.push_back({rank, -1, work(stage, kPassLetters[pass], m) + " is missing"});
      }
      const Position backward = find(kBackwardPass, stage, m);
      const Position weight = find(kWeightPass, stage, m);
      const bool split = backward.exists() && at(backward).kind == JobKind::kBackwardInput;
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
  }
}

void PlanIndex::Inputs::add(Position position) {
  if (position.exists()) positions[count++] = position;
}

PlanIndex::Inputs PlanIndex::inputsOf(const Action& action) const {
  Inputs inputs;
  const auto addForward = [&](int stage, int microBatch) {
    inputs.add(find(kForwardPass, stage - 1, microBatch));
  };
  const auto addBackward = [&](int stage, int microBatch) {
    inputs.add(find(kForwardPass, stage, microBatch));
    inputs.add(find(kBackwardPass, stage + 1, microBatch));
  };
  switch (action.kind) {
    case JobKind::kForward: addForward(action.stage, action.microBatch); break;
    case JobKind::kBackward:
    case JobKind::kBackwardInput: addBackward(action.stage, action.microBatch); break;
    case JobKind::kBackwardWeight:
      inputs.add(find(kBackwardPass, action.stage, action.microBatch));
      break;
    case JobKind::kForwardBackward:
      addForward(action.stage, action.microBatch);
      addBackward(action.backwardStage, action.backwardMicroBatch);
      break;
    default: break;
  }
  return inputs;
}

}  // namespace pipetrace
