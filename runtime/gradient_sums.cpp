#include "runtime/gradient_sums.h"

#include <algorithm>
#include <utility>

#include "runtime/record/record_collective.h"

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
    members_.push_back(recorded_.isOn() ? recorded_.recorder->text(copies.members) : nullptr);
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
    if (planned_->reductionTime(copies.stage) == 0) return;
    State& state = states_[static_cast<std::size_t>(reduction)];
    state = {.hasBegun = true, .begin = plannedMarkOf(recorded_, planned_->now())};
    messages_.startExchange(reduction, step_, {.deadline = planned_->now()});
    return;
  }
  const bool isLast = copies.reductions.back() == reduction;
  if (isLast && work_.hasSums() && messages_.canReduceEarly(step_)) begin(reduction);
}

void GradientSums::begin(int reduction) {
  Message sums = work_.sumsOf(copiesOf(reduction).stage);
  states_[static_cast<std::size_t>(reduction)] = {.hasBegun = true, .begin = mark()};
  messages_.startExchange(reduction, step_, std::move(sums));
}

void GradientSums::addUp() {
  // In the order of stages, which all ranks have.
  for (const RankProgram::Copies& copies : program_.copies) {
    planned_ != nullptr ? addUpPlanned(copies) : addUpCopies(copies);
  }
  addUpTies();
}

void GradientSums::addUpCopies(const RankProgram::Copies& copies) {
  if (!work_.hasSums()) return;
  const int reduction = copies.reductions.back();
  State& state = states_[static_cast<std::size_t>(reduction)];
  if (!state.hasBegun) begin(reduction);
  const RankMessages::Exchanged all = messages_.finishExchange(reduction, step_);
  work_.addSums(copies.stage, all.messages);
  const DeviceStream::Mark end = all.stamp != 0 ? all.stamp : mark();
  record(copies, state.begin, std::max(state.begin, end), all.messages.front().bytes());
}

/// As Reductions has it in the simulation.
void GradientSums::addUpPlanned(const RankProgram::Copies& copies) {
  const Nanoseconds time = planned_->reductionTime(copies.stage);
  if (time == 0) return;
  Nanoseconds before = kNsMin;
  for (const int reduction : copies.reductions) {
    Nanoseconds begin = before;
    for (const Message& come : messages_.finishExchange(reduction, step_).messages) {
      begin = std::max(begin, come.deadline);
    }
    const auto own = static_cast<Nanoseconds>(states_[static_cast<std::size_t>(reduction)].begin);
    record(copies, static_cast<DeviceStream::Mark>(std::max(own, before)),
           static_cast<DeviceStream::Mark>(begin + time), kNotGiven);
    before = begin + time;
    planned_->awaitReduction(before);
  }
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

DeviceStream::Mark GradientSums::mark() { return markOf(recorded_, device_); }

void GradientSums::record(const RankProgram::Copies& copies, DeviceStream::Mark begin,
                          DeviceStream::Mark end, std::int64_t bytes) {
  const auto index = static_cast<std::size_t>(&copies - program_.copies.data());
  recordCollective(recorded_, {.job = {.kind = JobKind::kAllReduce,
                                       .microBatch = kNotGiven,
                                       .step = step_,
                                       .stage = copies.stage,
                                       .chunk = copies.chunk,
                                       .action = members_[index]},
                               .begin = begin,
                               .end = end,
                               .bytes = bytes});
}

}  // namespace pipetrace
