#include "schedule/check/plan_index.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace pipetrace {
namespace {

/// The work that there is of each stage, or of each micro-batch; numbers without any are left out.
struct Counts {
  int size = 0;
  std::map<int, std::int64_t> passes = {};  // forward and backward ones

  void add(int number, bool isPass) {
    if (number >= 0 && number < size) passes[number] += isPass;
  }

  /// The size without the last numbers that are there by mistake, where each should have `whole`
  /// passes.
  int withoutStrays(std::int64_t whole) const {
    if (!passes.contains(size - 1)) return size;
    for (auto last = passes.rbegin(); last != passes.rend(); ++last) {
      const auto& [number, found] = *last;
      const auto before = std::next(last);
      const bool followsNothing =
          number > 0 && (before == passes.rend() || before->first < number - 1);
      if (2 * found > whole || (2 * found == whole && !followsNothing)) return number + 1;
    }
    return size;
  }
};

bool isWork(const Action& action) { return !isDataParallel(action.kind); }

std::int64_t actionCount(const Plan& plan) {
  std::int64_t count = 0;
  for (const auto& actions : plan.ranks) {
    count += std::count_if(actions.begin(), actions.end(), isWork);
  }
  return count;
}

/// Whether isIt(stage, microBatch) holds for any action.
template <typename IsIt>
bool isAnywhere(const Plan& plan, const IsIt& isIt) {
  for (const auto& actions : plan.ranks) {
    for (const Action& action : actions) {
      if (isWork(action) && isIt(action.stage, action.microBatch)) return true;
      const bool fused = action.kind == JobKind::kForwardBackward;
      if (fused && isIt(action.backwardStage, action.backwardMicroBatch)) return true;
    }
  }
  return false;
}

std::string work(int stage, const char* letter, int microBatch) {
  return std::to_string(stage) + letter + std::to_string(microBatch);
}

constexpr const char* kPassLetters[] = {"F", "B", "W"};

}  // namespace

StagesAndMicroBatches sizeWithoutStrays(const Plan& plan) {
  Counts stages{.size = plan.numStages};
  Counts microBatches{.size = plan.numMicroBatches};
  const auto add = [&](int stage, int microBatch, bool isPass) {
    stages.add(stage, isPass);
    microBatches.add(microBatch, isPass);
  };
  for (const auto& actions : plan.ranks) {
    for (const Action& action : actions) {
      if (isDataParallel(action.kind)) continue;
      add(action.stage, action.microBatch,
          !isTransfer(action.kind) && action.kind != JobKind::kBackwardWeight &&
              action.kind != JobKind::kRecompute);
      if (action.kind == JobKind::kForwardBackward) {
        add(action.backwardStage, action.backwardMicroBatch, true);
      }
    }
  }
  const int passesOfEach = plan.isForwardOnly() ? 1 : 2;
  const auto all = [&](const Counts& others) {
    return passesOfEach * static_cast<std::int64_t>(others.passes.size());
  };
  StagesAndMicroBatches size;
  size.stages = stages.withoutStrays(all(microBatches));
  stages.passes.erase(stages.passes.lower_bound(size.stages), stages.passes.end());
  size.microBatches = microBatches.withoutStrays(all(stages));
  return size;
}

PlanIndex::PlanIndex(const Plan& plan)
    : plan_(plan),
      isForwardOnly_(plan.isForwardOnly()),
      size_{plan.numStages, plan.numMicroBatches} {
  if (!hasPlaces()) return;
  if (isOfSaneSize()) {
    addAll();
    if (problems_.empty()) return;
  }
  // A number with a digit too many must not make a list of millions of missing actions.
  size_ = sizeWithoutStrays(plan);
  problems_ = {};
  table_.clear();
  parts_.clear();
  transfers_.clear();
  if (isOfSaneSize()) {
    addAll();
  } else {
    refuseSize();
  }
}

bool PlanIndex::hasPlaces() {
  const auto& places = plan_.placement.ranksOfStage;
  const bool hasAll =
      places.size() == static_cast<std::size_t>(plan_.numStages) && plan_.placement.run >= 1 &&
      std::none_of(places.begin(), places.end(), [](const auto& ranks) { return ranks.empty(); });
  if (size_.stages < 1 || size_.microBatches < 1) {
    problems_.add({.message = "the plan is empty"});
  } else if (!hasAll) {
    problems_.add({.message = "the plan does not say which rank runs each of its stages"});
  } else if (plan_.replicas < 1 || plan_.numRanks() % plan_.replicas != 0 ||
             plan_.numMicroBatches % plan_.replicas != 0) {
    problems_.add({.message = "the plan has " + std::to_string(plan_.replicas) +
                              " replicas, which do not have equal parts of its " +
                              std::to_string(plan_.numRanks()) + " ranks and " +
                              std::to_string(plan_.numMicroBatches) + " micro-batches"});
  }
  return problems_.empty();
}

bool PlanIndex::isOfSaneSize() const {
  const std::int64_t needed = static_cast<std::int64_t>(size_.stages) * size_.microBatches;
  return needed <= 4 * actionCount(plan_) + 1024;
}

void PlanIndex::refuseSize() {
  Position at;
  int largest = -1;
  for (int rank = 0; rank < plan_.numRanks(); ++rank) {
    const auto& list = plan_.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!isWork(list[i])) continue;
      const int number = std::max(
          {list[i].stage, list[i].microBatch, list[i].backwardStage, list[i].backwardMicroBatch});
      if (number <= largest) continue;
      largest = number;
      at = {rank, static_cast<int>(i)};
    }
  }
  problems_.add({at.rank, at.cell,
                 (at.exists() ? toText(this->at(at)) + ": " : "") + std::to_string(size_.stages) +
                     " stages and " + std::to_string(size_.microBatches) + " micro-batches need " +
                     std::to_string(static_cast<std::int64_t>(size_.stages) * size_.microBatches) +
                     " forwards, but the plan has " + std::to_string(actionCount(plan_)) +
                     " actions in all; is a number too large?"});
}

void PlanIndex::addAll() {
  table_.resize(static_cast<std::size_t>(size_.stages) *
                static_cast<std::size_t>(size_.microBatches) * kPassCount);
  for (int rank = 0; rank < plan_.numRanks(); ++rank) {
    const auto& list = plan_.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < list.size(); ++i) {
      addAction(list[i], {rank, static_cast<int>(i)});
    }
  }
  closeParts();
  findMissing();
}

std::size_t PlanIndex::transferCell(const PlannedMessage& message, bool sends) const {
  return cellOf(message.from, message.microBatch) * 4 + (message.forward ? 0U : 2U) +
         (sends ? 0U : 1U);
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
  return findFirst(message.forward ? kForwardPass : kBackwardPass, message.to(),
                   message.microBatch);
}

PlanIndex::Position PlanIndex::backwardOf(const Action& recompute) const {
  return findFirst(kBackwardPass, recompute.stage, recompute.microBatch);
}

PlanIndex::Position PlanIndex::findFirst(Pass pass, int stage, int microBatch) const {
  if (!parts_.empty() && inRange(stage, microBatch)) {
    const auto found = parts_.find({cellOf(stage, microBatch), pass});
    if (found != parts_.end()) return found->second.begin()->second;
  }
  return find(pass, stage, microBatch);
}

PlanIndex::Position PlanIndex::findPart(const Action& action, int part) const {
  if (!inRange(action.stage, action.microBatch)) return {};
  const Pass pass = action.kind == JobKind::kBackwardWeight ? kWeightPass : kBackwardPass;
  const auto found = parts_.find({cellOf(action.stage, action.microBatch), pass});
  if (found == parts_.end()) return {};
  const auto at = found->second.find(part);
  return at == found->second.end() ? Position{} : at->second;
}

bool PlanIndex::crossesRanks(const PlannedMessage& message) const {
  return inRange(message.from, message.microBatch) && inRange(message.to(), message.microBatch) &&
         plan_.rankOf(message.from, message.microBatch) !=
             plan_.rankOf(message.to(), message.microBatch);
}

void PlanIndex::put(Position& slot, Position position) {
  if (!slot.exists()) {
    slot = position;
    return;
  }
  problems_.add(position.rank, position.cell, [&] {
    return toText(at(position)) + " is done already by rank " + std::to_string(slot.rank) +
           ", cell " + std::to_string(slot.cell) + " (" + toText(at(slot)) + ")";
  });
}

std::string PlanIndex::whyOutOfRange(int stage, int microBatch) const {
  const std::string why = " is out of range: ";
  if (stage >= size_.stages && stage < plan_.numStages) {
    const std::string name = "stage " + std::to_string(stage);
    const bool isAlone = !isAnywhere(plan_, [&](int otherStage, int otherMicroBatch) {
      return otherStage == stage && otherMicroBatch != microBatch;
    });
    return why + (isAlone ? "no other micro-batch has " + name : "most of " + name + " is missing");
  }
  if (microBatch >= size_.microBatches && microBatch < plan_.numMicroBatches) {
    const std::string name = "micro-batch " + std::to_string(microBatch);
    const bool isAlone = !isAnywhere(plan_, [&](int otherStage, int otherMicroBatch) {
      return otherMicroBatch == microBatch && otherStage != stage;
    });
    return why + (isAlone ? "no other stage has " + name : "most of " + name + " is missing");
  }
  return why + "the plan has " + std::to_string(size_.stages) + " stages and " +
         std::to_string(size_.microBatches) + " micro-batches";
}

void PlanIndex::addWork(Pass pass, int stage, int microBatch, Position position) {
  if (inRange(stage, microBatch)) {
    put(table_[cellOf(stage, microBatch) * kPassCount + pass], position);
    return;
  }
  problems_.add(position.rank, position.cell,
                [&] { return toText(at(position)) + whyOutOfRange(stage, microBatch); });
}

void PlanIndex::addPart(const Action& action, Position position) {
  const bool isWeight = action.kind == JobKind::kBackwardWeight;
  if (!mayHaveParts(action.kind)) {
    problems_.add(position.rank, position.cell, [&] {
      return toText(action) + " is a part, and only backwards and weight halves have parts";
    });
  } else if (!inRange(action.stage, action.microBatch)) {
    problems_.add(position.rank, position.cell,
                  [&] { return toText(action) + whyOutOfRange(action.stage, action.microBatch); });
  } else {
    const Pass pass = isWeight ? kWeightPass : kBackwardPass;
    put(parts_[{cellOf(action.stage, action.microBatch), pass}][action.part], position);
  }
}

/// The last part stands for the whole.
void PlanIndex::closeParts() {
  for (const auto& [place, parts] : parts_) {
    int expected = 0;
    for (const auto& [part, position] : parts) {
      const Action& action = at(position);
      Action other = action;
      other.part = expected++;
      if (part != other.part) {
        problems_.add(position.rank, position.cell,
                      [&] { return toText(other) + " is missing before " + toText(action); });
        expected = part + 1;
      } else if (parts.size() == 1) {
        other.part = 1;
        problems_.add(position.rank, position.cell, [&] {
          return toText(other) + " is missing: " + toText(action) +
                 " is a part, and the only one of its backward";
        });
      } else if (action.parts != parts.rbegin()->first + 1) {
        problems_.add(position.rank, position.cell, [&] {
          return toText(action) + " is one of " + std::to_string(action.parts) +
                 " parts, and the plan has " + std::to_string(parts.rbegin()->first + 1);
        });
      }
    }
    put(table_[place.first * kPassCount + place.second], parts.rbegin()->second);
  }
}

void PlanIndex::addTransfer(const Action& action, Position position) {
  if (!inRange(action.stage, action.microBatch)) {
    problems_.add(position.rank, position.cell,
                  [&] { return toText(action) + whyOutOfRange(action.stage, action.microBatch); });
    return;
  }
  if (transfers_.empty()) transfers_.resize(table_.size() / kPassCount * 4);
  const PlannedMessage message = messageOf(action);
  if (isForwardOnly_ && !message.forward) {
    problems_.add(position.rank, position.cell, [&] {
      return toText(action) + " has no message to move: the plan has no backward passes";
    });
    return;
  }
  if (crossesRanks(message)) {
    put(transfers_[transferCell(message, isSend(action.kind))], position);
    return;
  }
  const int other = isSend(action.kind) ? message.to() : message.from;
  const bool isStage = other >= 0 && other < size_.stages;
  problems_.add(position.rank, position.cell, [&] {
    return toText(action) + " has no message to move: stage " + std::to_string(other) +
           (isStage ? " is on the same rank" : " does not exist");
  });
}

void PlanIndex::addAction(const Action& action, Position position) {
  if (action.isPart()) return addPart(action, position);
  switch (action.kind) {
    case JobKind::kForward: addWork(kForwardPass, action.stage, action.microBatch, position); break;
    case JobKind::kBackward:
    case JobKind::kBackwardInput:
      addWork(kBackwardPass, action.stage, action.microBatch, position);
      break;
    case JobKind::kBackwardWeight:
      addWork(kWeightPass, action.stage, action.microBatch, position);
      break;
    case JobKind::kRecompute: addRecompute(action, position); break;
    case JobKind::kForwardBackward:
      addWork(kForwardPass, action.stage, action.microBatch, position);
      addWork(kBackwardPass, action.backwardStage, action.backwardMicroBatch, position);
      break;
    default:
      if (isTransfer(action.kind)) return addTransfer(action, position);
      if (isDataParallel(action.kind)) break;
      problems_.add(position.rank, position.cell,
                    [&] { return std::string(logName(action.kind)) + " is no action of a plan"; });
  }
}

void PlanIndex::addRecompute(const Action& action, Position position) {
  if (!isForwardOnly_) {
    return addWork(kRecomputePass, action.stage, action.microBatch, position);
  }
  problems_.add(position.rank, position.cell, [&] {
    return toText(action) + " has no backward to recompute for: the plan has no backward passes";
  });
}

PlanIndex::Inputs PlanIndex::inputsOf(const Action& action) const {
  Inputs inputs;
  if (!action.isFirstPart()) {
    inputs.add(findPart(action, action.part - 1));
    return inputs;
  }
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
    case JobKind::kRecompute:
      inputs.add(find(kForwardPass, action.stage, action.microBatch));
      break;
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

// The work that a plan lacks.

bool PlanIndex::hasAny(int stage, int microBatch) const {
  return find(kForwardPass, stage, microBatch).exists() ||
         find(kBackwardPass, stage, microBatch).exists() ||
         find(kWeightPass, stage, microBatch).exists();
}

void PlanIndex::findMissing() {
  const std::vector<bool> isMissingStage = findMissingStages();
  const std::vector<bool> isMissingMicroBatch = findMissingMicroBatches();
  for (int stage = 0; stage < size_.stages; ++stage) {
    if (isMissingStage[static_cast<std::size_t>(stage)]) continue;
    for (int m = 0; m < size_.microBatches; ++m) {
      if (!isMissingMicroBatch[static_cast<std::size_t>(m)]) findMissing(stage, m);
    }
  }
}

std::vector<bool> PlanIndex::findMissingStages() {
  std::vector<bool> isMissing;
  for (int stage = 0; stage < size_.stages; ++stage) {
    bool found = false;
    for (int m = 0; m < size_.microBatches && !found; ++m) found = hasAny(stage, m);
    isMissing.push_back(!found);
  }
  const bool isRank = std::count(isMissing.begin(), isMissing.end(), false) == plan_.numRanks();
  for (int stage = 0; stage < size_.stages; ++stage) {
    if (!isMissing[static_cast<std::size_t>(stage)]) continue;
    const std::string number = std::to_string(stage);
    problems_.add({.message = isRank
                                  ? "rank " + number + " is missing: no rank has stage " + number
                                  : "stage " + number + " is missing: no rank has any work of it"});
  }
  return isMissing;
}

std::vector<bool> PlanIndex::findMissingMicroBatches() {
  std::vector<bool> isMissing;
  for (int m = 0; m < size_.microBatches; ++m) {
    bool found = false;
    for (int stage = 0; stage < size_.stages && !found; ++stage) found = hasAny(stage, m);
    isMissing.push_back(!found);
  }
  if (std::find(isMissing.begin(), isMissing.end(), false) == isMissing.end()) return isMissing;
  for (auto from = isMissing.begin(); from != isMissing.end();) {
    const auto to = std::find(from, isMissing.end(), !*from);
    const auto first = std::to_string(from - isMissing.begin());
    const auto last = std::to_string(to - isMissing.begin() - 1);
    if (*from) {
      problems_.add(
          {.message =
               (to - from == 1 ? "micro-batch " + first + " is missing: no rank has any work of it"
                               : "micro-batches " + first + " to " + last +
                                     " are missing: no rank has any work of them")});
    }
    from = to;
  }
  return isMissing;
}

void PlanIndex::findMissing(int stage, int m) {
  const Position backward = find(kBackwardPass, stage, m);
  const Position weight = find(kWeightPass, stage, m);
  const bool split = backward.exists() && at(backward).kind == JobKind::kBackwardInput;
  if (find(kForwardPass, stage, m).exists() && backward.exists() && split == weight.exists())
    return;

  const int rank = plan_.rankOf(stage, m);
  if (isForwardOnly_) {
    if (find(kForwardPass, stage, m).exists()) return;
    problems_.add(rank, -1, [&] { return work(stage, "F", m) + " is missing"; });
    return;
  }
  for (const Pass pass : {kForwardPass, kBackwardPass}) {
    if (find(pass, stage, m).exists()) continue;
    problems_.add(rank, -1, [&] { return work(stage, kPassLetters[pass], m) + " is missing"; });
  }
  if (split && !weight.exists()) {
    problems_.add({rank, -1,
                   work(stage, "W", m) + " is missing: the plan has only the half " +
                       work(stage, "I", m) + " of that backward pass"});
  }
  if (!split && backward.exists() && weight.exists()) {
    problems_.add({weight.rank, weight.cell,
                   work(stage, "W", m) + " is done already by the whole backward pass " +
                       work(stage, "B", m)});
  }
}

}  // namespace pipetrace
