#include "runtime/gradient_sums.h"

#include <algorithm>
#include <utility>

namespace pipetrace {

GradientSums::GradientSums(const RankProgram& program, StageWork& work, RankMessages& messages,
                           const RecordedStreams& recorded, PlannedTransfers* planned,
                           RankDevice* device)
    : program_(program),
      work_(work),
      messages_(messages),
      recorded_(recorded),
      planned_(planned),
      device_(device),
      states_(program.reductions.size()) {
  for (const RankProgram::Copies& copies : program_.copies) {
    members_.push_back(records() ? recorded_.recorder->text(copies.members) : nullptr);
  }
}

const RankProgram::Copies& GradientSums::copiesOf(int reduction) const {
  const int copies = program_.reductions[static_cast<std::size_t>(reduction)].copies;
  return program_.copies[static_cast<std::size_t>(copies)];
}

void GradientSums::beginStep(int step) {
  step_ = step;
  for (State& state : states_) state = {};
  if (work_.hasSums()) messages_.compareRows(step, work_.rows());
}

void GradientSums::reduce(int reduction) {
  const RankProgram::Copies& copies = copiesOf(reduction);
  if (planned_ != nullptr) {
    if (planned_->reductionTime(copies.stage) == 0 && program_.updatesAtEnd) return;
    State& state = states_[static_cast<std::size_t>(reduction)];
    state = {.hasBegun = true, .begin = static_cast<DeviceStream::Mark>(planned_->now())};
    messages_.startExchange(reduction, step_, {.deadline = planned_->now()});
    return;
  }
  const bool isDue = !program_.updatesAtEnd || copies.reductions.back() == reduction;
  if (isDue && work_.hasSums() && messages_.canReduceEarly(step_)) begin(reduction);
}

void GradientSums::begin(int reduction) {
  Message sums = work_.sumsOf(copiesOf(reduction).stage);
  states_[static_cast<std::size_t>(reduction)] = {.hasBegun = true, .begin = mark()};
  messages_.startExchange(reduction, step_, std::move(sums));
}

void GradientSums::addUp() {
  // In the order of stages, which all ranks have.
  for (const RankProgram::Copies& copies : program_.copies) {
    planned_ != nullptr ? addUpPlanned(copies) : addUpCopies(copies, copies.reductions.back());
  }
  addUpTies();
}

void GradientSums::addUp(int reduction) {
  const RankProgram::Copies& copies = copiesOf(reduction);
  if (planned_ == nullptr) return addUpCopies(copies, reduction);
  planned_->awaitReduction(endPlanned(copies, reduction, kNsMin));
}

void GradientSums::addUpCopies(const RankProgram::Copies& copies, int reduction) {
  if (!work_.hasSums()) return;
  State& state = states_[static_cast<std::size_t>(reduction)];
  if (!state.hasBegun) begin(reduction);
  const RankMessages::Exchanged all = messages_.finishExchange(reduction, step_);
  work_.addSums(copies.stage, all.messages);
  const DeviceStream::Mark end = all.stamp != 0 ? all.stamp : mark();
  record(copies, state.begin, std::max(state.begin, end), all.messages.front().bytes());
}

/// As Reductions has it in the simulation.
void GradientSums::addUpPlanned(const RankProgram::Copies& copies) {
  if (planned_->reductionTime(copies.stage) == 0) return;
  Nanoseconds before = kNsMin;
  for (const int reduction : copies.reductions) {
    before = endPlanned(copies, reduction, before);
    planned_->awaitReduction(before);
  }
}

/// Waits for the other ranks of a planned reduction; `before`: the end of the one before.
Nanoseconds GradientSums::endPlanned(const RankProgram::Copies& copies, int reduction,
                                     Nanoseconds before) {
  Nanoseconds begin = before;
  for (const Message& come : messages_.finishExchange(reduction, step_).messages) {
    begin = std::max(begin, come.deadline);
  }
  const Nanoseconds end = begin + planned_->reductionTime(copies.stage);
  const auto own = static_cast<Nanoseconds>(states_[static_cast<std::size_t>(reduction)].begin);
  record(copies, static_cast<DeviceStream::Mark>(std::max(own, before)),
         static_cast<DeviceStream::Mark>(end), kNotGiven);
  return end;
}

void GradientSums::addUpTies() {
  for (const RankProgram::TiedSum& own : program_.tiedSends) {
    messages_.sendSum(own.sum, step_, work_.tiedSumOf(own.tie, own.use));
  }
  for (const RankProgram::TiedSum& other : program_.tiedReceives) {
    work_.takeTiedSum(other.tie, other.use, messages_.receiveSum(other.sum, step_));
  }
  work_.addTiedSums();
}

DeviceStream::Mark GradientSums::mark() {
  if (!records()) return 0;
  if (device_ == nullptr) return recorded_.recorder->mark(recorded_.reductions);
  DeviceStream& stream = recorded_.recorder->stream(recorded_.reductions);
  stream.markStart();
  return stream.mark();
}

void GradientSums::record(const RankProgram::Copies& copies, DeviceStream::Mark begin,
                          DeviceStream::Mark end, std::int64_t bytes) {
  if (!records()) return;
  const auto index = static_cast<std::size_t>(&copies - program_.copies.data());
  recorded_.recorder->begin(recorded_.reductions, {.kind = JobKind::kAllReduce,
                                                   .microBatch = kNotGiven,
                                                   .step = step_,
                                                   .stage = copies.stage,
                                                   .chunk = copies.chunk,
                                                   .action = members_[index]});
  recorded_.recorder->beganAt(recorded_.reductions, begin);
  recorded_.recorder->endAt(recorded_.reductions, end, bytes);
}

}  // namespace pipetrace
