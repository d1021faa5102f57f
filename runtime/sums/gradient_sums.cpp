#include "runtime/sums/gradient_sums.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/record/record_job.h"
#include "trace/error.h"

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
      buckets_(work.buckets()),
      states_(program.reductions.size()) {
  for (const RankProgram::StageReplicas& replicas : program_.stageReplicas) {
    members_.push_back(recorded_.isOn() ? recorded_.recorder->text(replicas.members) : nullptr);
  }
}

const RankProgram::StageReplicas& GradientSums::replicasOf(int reduction) const {
  const int replicas = program_.reductions[static_cast<std::size_t>(reduction)].stageReplicas;
  return program_.stageReplicas[static_cast<std::size_t>(replicas)];
}

GradientBucket GradientSums::bucketOf(int reduction) const {
  const RankProgram::StageReplicas& replicas = replicasOf(reduction);
  return {.stage = replicas.stage,
          .number = program_.reductions[static_cast<std::size_t>(reduction)].bucket,
          .of = replicas.buckets,
          .isOfPart = replicas.areOfParts};
}

bool GradientSums::takesPart(int reduction) const {
  if (planned_ != nullptr) {
    // Updates wait for each other in any case.
    return !program_.updatesAtEnd || planned_->reductionTime(replicasOf(reduction).stage) != 0;
  }
  return buckets_ != nullptr && program_.reductions[static_cast<std::size_t>(reduction)].isTrained;
}

void GradientSums::beginStep(int step) {
  step_ = step;
  for (State& state : states_) state = {};
  next_ = 0;
  finished_ = 0;
  underWay_ = 0;
  isEarly_ = messages_.canReduceEarly(step);
  if (buckets_ != nullptr) messages_.compareRows(step, work_.rows());
}

void GradientSums::reduce(int reduction) {
  if (!takesPart(reduction)) return;
  State& state = at(reduction);
  state.isReached = true;
  ++underWay_;
  if (planned_ != nullptr) {
    state.planned = planned_->now();
    state.begin = plannedMarkOf(recorded_, state.planned);
    return advance(/*waits=*/false);
  }
  state.bucket = buckets_->fill(bucketOf(reduction));
  state.begin = mark();
  goOn();
}

void GradientSums::doWhatHasCome() {
  if (!isEarly_) return;
  advance(/*waits=*/false);
  finishUntil(next_, /*waits=*/false);
}

// Ranks do these in one order, so that their messages to each other have one, too.
void GradientSums::advance(bool waits) {
  for (; next_ < program_.exchanges.size(); ++next_) {
    const Exchange& exchange = program_.exchanges[next_];
    if (!takesPart(exchange.reduction)) continue;
    if (!at(exchange.reduction).isReached) return;
    if (exchange.round == Round::kParts) {
      sendParts(exchange);
      continue;
    }
    if (planned_ != nullptr) continue;  // it moves no gradients
    const bool hasCome = waits || messages_.hasCome({exchange.reduction, Round::kParts});
    if (!hasCome) return;
    addPart(exchange);
  }
}

void GradientSums::finishUntil(std::size_t exchange, bool waits) {
  for (; finished_ < exchange; ++finished_) {
    const Exchange& sums = program_.exchanges[finished_];
    if (sums.round == Round::kParts || !takesPart(sums.reduction)) continue;
    if (!waits && !messages_.hasCome(sums)) return;
    finish(sums);
  }
}

void GradientSums::addUp() {
  advance(/*waits=*/true);
  if (planned_ == nullptr) finishUntil(next_, /*waits=*/true);
  // In the order of stages, which all ranks have.
  for (const RankProgram::StageReplicas& replicas : program_.stageReplicas) {
    if (planned_ != nullptr) addUpPlanned(replicas);
  }
  addUpTies();
}

void GradientSums::addUp(int reduction) {
  advance(/*waits=*/true);
  if (planned_ == nullptr) return finishUntil(next_, /*waits=*/true);
  planned_->awaitReduction(endPlanned(reduction, /*before=*/0));
}

std::size_t GradientSums::ownMember(int reduction) const {
  const auto& peers = replicasOf(reduction).peers;
  const auto after =
      std::ranges::find_if(peers, [&](const auto& peer) { return peer.rank > messages_.rank(); });
  return static_cast<std::size_t>(std::distance(peers.begin(), after));
}

GradientSums::Part GradientSums::partOf(int reduction, std::size_t member) const {
  const auto members = static_cast<std::int64_t>(replicasOf(reduction).peers.size() + 1);
  const at::Tensor& bucket = states_[static_cast<std::size_t>(reduction)].bucket;
  const std::int64_t units = bucket.numel() / GradientBuckets::kUnit;
  const auto beginOf = [&](std::int64_t which) {
    return units * which / members * GradientBuckets::kUnit;
  };
  const auto which = static_cast<std::int64_t>(member);
  return {.first = beginOf(which), .size = beginOf(which + 1) - beginOf(which)};
}

void GradientSums::sendParts(const Exchange& exchange) {
  State& state = at(exchange.reduction);
  std::vector<Message> parts(replicasOf(exchange.reduction).peers.size());
  if (planned_ != nullptr) {
    for (Message& part : parts) part.deadline = state.planned;
    return messages_.startRound(exchange, step_, std::move(parts));
  }
  if (!isEarly_) state.begin = mark();
  const std::size_t own = ownMember(exchange.reduction);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part part = partOf(exchange.reduction, i < own ? i : i + 1);
    parts[i].tensor = state.bucket.narrow(0, part.first, part.size);
    // Its sum is put in its place when that has come, so another rank has read the part by then.
    // But no event tells the device's streams that.
    if (device_ != nullptr) parts[i].tensor = parts[i].tensor.clone();
  }
  messages_.startRound(exchange, step_, std::move(parts));
}

void GradientSums::requireAlike(int stage, int peer, const Part& part,
                                const at::Tensor& come) const {
  if (come.defined() && come.numel() == part.size) return;
  throw Error("ranks " + std::to_string(messages_.rank()) + " and " + std::to_string(peer) +
              " have stage " + std::to_string(stage) +
              ", but their gradients of it are not of the same size; a stage has the same "
              "parameters on all its ranks");
}

void GradientSums::addPart(const Exchange& exchange) {
  const at::NoGradGuard noGrad;
  State& state = at(exchange.reduction);
  const std::size_t own = ownMember(exchange.reduction);
  const Part part = partOf(exchange.reduction, own);
  const at::Tensor ownPart = state.bucket.narrow(0, part.first, part.size);
  std::vector<at::Tensor> parts;
  const RankProgram::StageReplicas& replicas = replicasOf(exchange.reduction);
  auto peer = replicas.peers.begin();
  for (Message& come : messages_.finishRound({exchange.reduction, Round::kParts}, step_).messages) {
    requireAlike(replicas.stage, (peer++)->rank, part, come.tensor);
    if (parts.size() == own) parts.push_back(ownPart);
    parts.push_back(std::move(come.tensor));
  }
  if (parts.size() == own) parts.push_back(ownPart);
  // A tensor of its own travels: nobody changes it while others may still read it.
  const at::Tensor sum = buckets_->addUp(bucketOf(exchange.reduction), part.first, parts);
  ownPart.copy_(sum);
  if (device_ == nullptr) state.added = mark();
  std::vector<Message> sums(replicasOf(exchange.reduction).peers.size(), Message{.tensor = sum});
  messages_.startRound(exchange, step_, std::move(sums));
}

void GradientSums::finish(const Exchange& exchange) {
  const at::NoGradGuard noGrad;
  const int reduction = exchange.reduction;
  State& state = at(reduction);
  const RankMessages::Exchanged sums = messages_.finishRound(exchange, step_);
  const std::size_t own = ownMember(reduction);
  for (std::size_t i = 0; i < sums.messages.size(); ++i) {
    const Part part = partOf(reduction, i < own ? i : i + 1);
    state.bucket.narrow(0, part.first, part.size).copy_(sums.messages[i].tensor);
  }
  buckets_->summed(bucketOf(reduction));
  const DeviceStream::Mark end =
      sums.stamp != 0 ? std::max<DeviceStream::Mark>(sums.stamp, state.added) : mark();
  record(replicasOf(reduction), state.begin, std::max(state.begin, end), state.bucket.numel());
  state.bucket = at::Tensor();  // the gradients keep it
  --underWay_;
}

/// As Reductions has it in the simulation.
void GradientSums::addUpPlanned(const RankProgram::StageReplicas& replicas) {
  if (planned_->reductionTime(replicas.stage) == 0) return;
  Nanoseconds before = 0;
  for (const int reduction : replicas.reductions) {
    before = endPlanned(reduction, before);
    planned_->awaitReduction(before);
  }
}

/// Waits for the other ranks. `before`: the end of the reduction before.
Nanoseconds GradientSums::endPlanned(int reduction, Nanoseconds before) {
  const RankProgram::StageReplicas& replicas = replicasOf(reduction);
  const State& own = at(reduction);
  Nanoseconds begin = std::max(before, own.planned);
  for (const Message& come : messages_.finishRound({reduction, Round::kParts}, step_).messages) {
    begin = std::max(begin, come.deadline);
  }
  const Nanoseconds end = begin + planned_->reductionTime(replicas.stage);
  record(replicas, std::max(own.begin, static_cast<DeviceStream::Mark>(before)),
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

DeviceStream::Mark GradientSums::mark() { return markOf(recorded_, device_); }

void GradientSums::record(const RankProgram::StageReplicas& replicas, DeviceStream::Mark begin,
                          DeviceStream::Mark end, std::int64_t bytes) {
  const auto index = static_cast<std::size_t>(&replicas - program_.stageReplicas.data());
  recordCollective(recorded_, {.job = {.kind = JobKind::kAllReduce,
                                       .microBatch = kNotGiven,
                                       .step = recorded_.inLog(step_),
                                       .stage = replicas.stage,
                                       .chunk = replicas.chunk,
                                       .action = members_[index]},
                               .begin = begin,
                               .end = end,
                               .bytes = bytes});
}

}  // namespace pipetrace
