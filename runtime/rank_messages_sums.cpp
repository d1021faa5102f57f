// The part of RankMessages that moves sums of gradients.
#include <algorithm>
#include <utility>

#include "runtime/program/plan_words.h"
#include "runtime/rank_messages.h"
#include "trace/error.h"

namespace pipetrace {

bool RankMessages::canReduceEarly(int step) const {
  return !transport_.sendsBlock() && !transport_.isInLine(Direction::kBetweenCopies, step);
}

/// The sum at that turn.
RankProgram::Sum RankMessages::atTurn(RankProgram::Sum sum, int reduction) const {
  sum.key.microBatch = program_.reductions[static_cast<std::size_t>(reduction)].turn;
  return sum;
}

const std::vector<RankProgram::Copies::Peer>& RankMessages::peersOf(int reduction) const {
  const int copies = program_.reductions[static_cast<std::size_t>(reduction)].copies;
  return program_.copies[static_cast<std::size_t>(copies)].peers;
}

void RankMessages::startExchange(int reduction, int step, Message sums) {
  Exchange& exchange = exchanges_[static_cast<std::size_t>(reduction)];
  exchange.numbers.clear();
  for (const RankProgram::Copies::Peer& peer : peersOf(reduction)) {
    // In line, where both would send first, each waits for the other. The pairs of a stage's ranks
    // have one order on all of them.
    const bool sendsFirst = transport_.rank() < peer.rank;
    const RankProgram::Sum send = atTurn(peer.send, reduction);
    if (sendsFirst) sendSum(send, step, sums);
    exchange.numbers.push_back(postSum(atTurn(peer.receive, reduction), step));
    if (!sendsFirst) sendSum(send, step, sums);
  }
  exchange.own = std::move(sums);
}

RankMessages::Exchanged RankMessages::finishExchange(int reduction, int step) {
  const std::vector<RankProgram::Copies::Peer>& peers = peersOf(reduction);
  Exchange& exchange = exchanges_[static_cast<std::size_t>(reduction)];
  Exchanged all;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const bool isOwnTurn = all.messages.size() == i && transport_.rank() < peers[i].rank;
    if (isOwnTurn) all.messages.push_back(exchange.own);
    ReceiveLane<Message>::Arrival arrival =
        takeSum(atTurn(peers[i].receive, reduction), exchange.numbers[i], step);
    all.stamp = std::max(all.stamp, arrival.stamp);
    all.messages.push_back(std::move(arrival.message));
  }
  if (all.messages.size() == peers.size()) all.messages.push_back(exchange.own);
  exchange.own = {};
  return all;
}

void RankMessages::compareRows(int step, std::int64_t rows) {
  if (program_.rowsTo) {
    MessageKey key = program_.rowsTo->key;
    key.step = step;
    ends_[static_cast<std::size_t>(program_.rowsTo->lane)].send->send(key, {.deadline = rows});
  }
  for (const RankProgram::Rows& other : program_.rowsFrom) {
    const std::uint64_t number = postSum(other.message, step);
    const auto lane = static_cast<std::size_t>(other.message.lane);
    MessageKey key = other.message.key;
    key.step = step;
    const Message said =
        waitFor(program_.lanes[lane].peer, numberOfAwaited(Awaited::kRows, 0), [&] {
          return ends_[lane].receive->take(number, key);
        }).message;
    if (said.deadline == rows) continue;
    throw Error("replica " + std::to_string(other.replica) + " has a batch of " +
                std::to_string(said.deadline) + " rows in step " + std::to_string(step) +
                ", and replica 0 one of " + std::to_string(rows));
  }
}

void RankMessages::sendOnHost(const RankProgram::Sum& to, int step, Message message) {
  MessageKey key = to.key;
  key.step = step;
  ends_[static_cast<std::size_t>(to.lane)].send->send(key, std::move(message));
}

Message RankMessages::receiveOnHost(const RankProgram::Sum& from, int step) {
  const std::uint64_t number = postSum(from, step);
  MessageKey key = from.key;
  key.step = step;
  const auto lane = static_cast<std::size_t>(from.lane);
  return waitFor(program_.lanes[lane].peer, numberOfAwaited(Awaited::kAgreement, 0),
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
