#include "runtime/costs/ranks_in_turn.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>

namespace pipetrace {

RanksInTurn::RanksInTurn(const TorchWorkOptions& options,
                         const std::vector<std::vector<int>>& stagesByRank, const Batch& batch) {
  for (const std::vector<int>& stages : stagesByRank) {
    Rank& rank = ranks_.emplace_back();
    std::int64_t before = bytes_.now();
    rank.work =
        std::make_unique<TorchWork>(TorchWorkOptions{.model = options.model,
                                                     .partition = options.partition,
                                                     .numMicroBatches = options.numMicroBatches,
                                                     .seed = options.seed,
                                                     .optimizer = options.optimizer,
                                                     .precision = options.precision},
                                    stages);
    rank.weights = bytes_.now() - before;
    rank.work->load(batch);
    rank.work->beginStep(0);
    before = bytes_.now();
    for (at::Tensor& parameter : rank.work->parameters()) {
      if (parameter.requires_grad()) parameter.mutable_grad() = at::zeros_like(parameter);
    }
    rank.gradients = bytes_.now() - before;
  }
  if (!ranks_.empty()) routes_ = ranks_.front().work->routes({});
}

std::vector<std::size_t> RanksInTurn::routesOf(int stage, bool isInto, bool gradients) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const TensorRoute& route = routes_[i];
    if ((isInto ? route.to : route.from) != stage) continue;
    if (!gradients || route.hasGradient) found.push_back(i);
  }
  return found;
}

bool RanksInTurn::has(int stage, int microBatch, bool gradients) const {
  const auto routes = routesOf(stage, !gradients, gradients);
  return std::all_of(routes.begin(), routes.end(), [&](std::size_t route) {
    return messages_.contains({route, gradients, microBatch});
  });
}

bool RanksInTurn::canRun(const Action& action) const {
  switch (action.kind) {
    case JobKind::kForward: return has(action.stage, action.microBatch, false);
    case JobKind::kBackward:
    case JobKind::kBackwardInput: return has(action.stage, action.microBatch, true);
    case JobKind::kForwardBackward:
      return has(action.stage, action.microBatch, false) &&
             has(action.backwardStage, action.backwardMicroBatch, true);
    default: return true;
  }
}

/// The memory and the messages of a job.
template <typename Body>
void RanksInTurn::counted(int rank, const Body& body) {
  Rank& own = ranks_[index(rank)];
  const std::int64_t inTransit = inTransit_;
  const std::int64_t others = bytes_.now() - inTransit;
  bytes_.forgetMost();
  own.sent = 0;
  body();
  own.most = std::max(own.most, own.held + bytes_.most() - others - inTransit);
  for (const auto& [key, tensor] : made_) {
    messages_[key] = tensor.defined() ? tensor.clone() : tensor;
    if (!tensor.defined()) continue;
    inTransit_ += static_cast<std::int64_t>(tensor.nbytes());
    own.sent += static_cast<std::int64_t>(tensor.nbytes());
  }
  made_.clear();
  own.held += bytes_.now() - inTransit_ - others;
}

void RanksInTurn::run(int rank, const Action& action) {
  TorchWork& work = *ranks_[index(rank)].work;
  counted(rank, [&] {
    switch (action.kind) {
      case JobKind::kForward: return forward(rank, action.stage, action.microBatch);
      case JobKind::kBackward: return backward(rank, action.stage, action.microBatch, true);
      case JobKind::kBackwardInput: return backward(rank, action.stage, action.microBatch, false);
      case JobKind::kBackwardWeight: return work.backwardWeight(action.stage, action.microBatch);
      case JobKind::kRecompute: return work.recompute(action.stage, action.microBatch);
      case JobKind::kForwardBackward:
        forward(rank, action.stage, action.microBatch);
        return backward(rank, action.backwardStage, action.backwardMicroBatch, true);
      default: return;
    }
  });
}

void RanksInTurn::runStep(const Plan& plan) {
  std::vector<std::size_t> next(plan.ranks.size());
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    for (int rank = 0; rank < plan.numRanks(); ++rank) {
      const std::vector<Action>& actions = plan.ranks[index(rank)];
      std::size_t& at = next[index(rank)];
      for (; at < actions.size() && canRun(actions[at]); goesOn = true) run(rank, actions[at++]);
    }
  }
}

void RanksInTurn::update(int rank) {
  counted(rank, [&] { ranks_[index(rank)].work->optimizerStep(); });
}

std::vector<Message> RanksInTurn::take(int stage, int microBatch, bool gradients) {
  std::vector<Message> messages;
  for (const std::size_t route : routesOf(stage, !gradients, gradients)) {
    auto message = messages_.extract({route, gradients, microBatch});
    messages.push_back({.tensor = std::move(message.mapped())});
    inTransit_ -= messages.back().bytes();
  }
  return messages;
}

std::vector<Message> RanksInTurn::placesFor(int stage, bool gradients) const {
  return std::vector<Message>(routesOf(stage, gradients, gradients).size());
}

void RanksInTurn::handOn(int stage, int microBatch, bool gradients,
                         const std::vector<Message>& made) {
  const auto routes = routesOf(stage, gradients, gradients);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    made_.emplace_back(Key{routes[i], gradients, microBatch}, made[i].tensor);
  }
}

void RanksInTurn::forward(int rank, int stage, int microBatch) {
  std::vector<Message> inputs = take(stage, microBatch, false);
  std::vector<Message> outputs = placesFor(stage, false);
  ranks_[index(rank)].work->runForward(stage, microBatch, {inputs, outputs});
  handOn(stage, microBatch, false, outputs);
}

void RanksInTurn::backward(int rank, int stage, int microBatch, bool isWhole) {
  TorchWork& work = *ranks_[index(rank)].work;
  std::vector<Message> inputs = take(stage, microBatch, true);
  std::vector<Message> outputs = placesFor(stage, true);
  if (isWhole) {
    work.runBackward(stage, microBatch, {inputs, outputs});
  } else {
    work.runBackwardInput(stage, microBatch, {inputs, outputs});
  }
  handOn(stage, microBatch, true, outputs);
}

}  // namespace pipetrace
