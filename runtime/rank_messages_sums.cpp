// The part of RankMessages that moves sums of gradients.
#include <algorithm>
#include <utility>

#include "runtime/program/plan_words.h"
#include "runtime/rank_messages.h"
#include "trace/error.h"

namespace pipetrace {

bool RankMessages::canReduceEarly(int step) const {
  return !transport_.sendsBlock() && !transport_.isInLine(MessageKind::kStageGradients, step);
}

RankProgram::Sum RankMessages::inRound(RankProgram::Sum sum,
                                       const RankProgram::Exchange& round) const {
  const int turn = program_.reductions[static_cast<std::size_t>(round.reduction)].turn;
  sum.key.microBatch = 2 * turn + (round.round == Round::kSums ? 1 : 0);
  return sum;
}

const std::vector<RankProgram::StageReplicas::Peer>& RankMessages::peersOf(int reduction) const {
  const int replicas = program_.reductions[static_cast<std::size_t>(reduction)].stageReplicas;
  return program_.stageReplicas[static_cast<std::size_t>(replicas)].peers;
}

RankMessages::Rounds& RankMessages::of(const RankProgram::Exchange& round) {
  return rounds_[round.round == Round::kSums ? 1 : 0][static_cast<std::size_t>(round.reduction)];
}

void RankMessages::startRound(const RankProgram::Exchange& round, int step,
                              std::vector<Message> toPeers) {
  const std::vector<RankProgram::StageReplicas::Peer>& peers = peersOf(round.reduction);
  Rounds& own = of(round);
  own.numbers.clear();
  own.come.clear();
  for (std::size_t i = 0; i < peers.size(); ++i) {
    // In line, and where a send waits for its receive, each waits for the other if both send first.
    // The pairs of a stage's ranks have one order on all of them.
    const bool sendsFirst = transport_.rank() < peers[i].rank;
    const RankProgram::Sum send = inRound(peers[i].send, round);
    const RankProgram::Sum receive = inRound(peers[i].receive, round);
    if (sendsFirst) sendSum(send, step, std::move(toPeers[i]));
    own.numbers.push_back(postSum(receive, step));
    if (transport_.sendsBlock()) own.come.push_back(takeSum(receive, own.numbers.back(), step));
    if (!sendsFirst) sendSum(send, step, std::move(toPeers[i]));
  }
}

bool RankMessages::hasCome(const RankProgram::Exchange& round) {
  const std::vector<RankProgram::StageReplicas::Peer>& peers = peersOf(round.reduction);
  const Rounds& own = of(round);
  for (std::size_t i = own.come.size(); i < peers.size(); ++i) {
    const auto lane = static_cast<std::size_t>(peers[i].receive.lane);
    if (!ends_[lane].receive->has(own.numbers[i])) return false;
  }
  return true;
}

RankMessages::Exchanged RankMessages::finishRound(const RankProgram::Exchange& round, int step) {
  const std::vector<RankProgram::StageReplicas::Peer>& peers = peersOf(round.reduction);
  Rounds& own = of(round);
  for (std::size_t i = own.come.size(); i < peers.size(); ++i) {
    own.come.push_back(takeSum(inRound(peers[i].receive, round), own.numbers[i], step));
  }
  Exchanged all;
  for (ReceiveLane<Message>::Arrival& arrival : own.come) {
    all.stamp = std::max(all.stamp, arrival.stamp);
    all.messages.push_back(std::move(arrival.message));
  }
  own.come.clear();
  return all;
}

void RankMessages::compareRows(int step, std::int64_t rows) {
  if (program_.rowsTo) sendOnHost(*program_.rowsTo, step, {.rows = rows});
  for (const RankProgram::Rows& other : program_.rowsFrom) {
    const Message said = receiveOnHost(other.message, step, Awaited::kRows);
    if (said.rows == rows) continue;
    throw Error("replica " + std::to_string(other.replica) + " has a batch of " +
                std::to_string(said.rows) + " rows in step " + std::to_string(step) +
                ", and replica 0 one of " + std::to_string(rows));
  }
}

void RankMessages::sendOnHost(const RankProgram::Sum& to, int step, Message message) {
  MessageKey key = to.key;
  key.step = step;
  ends_[static_cast<std::size_t>(to.lane)].send->send(key, std::move(message));
}

Message RankMessages::receiveOnHost(const RankProgram::Sum& from, int step, Awaited what) {
  const std::uint64_t number = postSum(from, step);
  MessageKey key = from.key;
  key.step = step;
  const auto lane = static_cast<std::size_t>(from.lane);
  return waitFor(program_.lanes[lane].peer, numberOfAwaited(what, 0),
                 [&] { return ends_[lane].receive->take(number, key); })
      .message;
}

void RankMessages::sendSum(const RankProgram::Sum& sum, int step, Message message) {
  MessageKey key = sum.key;
  key.step = step;
  if (device_ != nullptr) message.made = device_->record();
  ends_[static_cast<std::size_t>(sum.lane)].send->send(key, std::move(message));
}

Message RankMessages::receiveSum(const RankProgram::Sum& sum, int step) {
  return takeSum(sum, postSum(sum, step), step).message;
}

std::uint64_t RankMessages::postSum(const RankProgram::Sum& sum, int step) {
  MessageKey key = sum.key;
  key.step = step;
  return ends_[static_cast<std::size_t>(sum.lane)].receive->post(key);
}

ReceiveLane<Message>::Arrival RankMessages::takeSum(const RankProgram::Sum& sum,
                                                    std::uint64_t number, int step) {
  MessageKey key = sum.key;
  key.step = step;
  const auto lane = static_cast<std::size_t>(sum.lane);
  auto arrival = waitFor(program_.lanes[lane].peer, numberOfAwaited(Awaited::kSums, key.stage),
                         [&] { return ends_[lane].receive->take(number, key); });
  if (device_ != nullptr) {
    Message& message = arrival.message;
    message.tensor =
        device_->await(message.tensor, message.made.get(), device_->receives(/*forward=*/false));
    message.made = nullptr;
  }
  return arrival;
}

}  // namespace pipetrace
