#include "runtime/rank_messages.h"

#include <algorithm>
#include <utility>

#include "runtime/program/plan_words.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

constexpr MessageKey kAcknowledgement{.kind = MessageKind::kAcknowledgement};

/// The clock of the transport's stamps. Without a recorder nobody asks for them, nor where
/// transfers are planned or a device knows their times.
StampClock clockOf(const RecordedStreams& recorded, const PlannedTransfers* planned,
                   const RankDevice* device) {
  if (recorded.recorder == nullptr || planned != nullptr || device != nullptr) return {};
  return
      [recorder = recorded.recorder, stream = recorded.send[0]] { return recorder->mark(stream); };
}

}  // namespace

RankMessages::Lent::Lent(Transport& transport, StampClock clock) : transport_(transport) {
  transport_.useClock(std::move(clock));
}

RankMessages::Lent::~Lent() {
  transport_.useClock({});
  transport_.useWatch(nullptr);
}

RankMessages::RankMessages(const RankProgram& program, Transport& transport,
                           RecordedStreams recorded, PlannedTransfers* planned,
                           ControlChannel* control, RankDevice* device)
    : program_(program),
      transport_(transport),
      recorded_(recorded),
      planned_(planned),
      control_(control),
      device_(device),
      lent_(transport, clockOf(recorded, planned, device)) {
  if (device_ != nullptr) {
    transport.useDevice(*device_);
    transport.useWatch(&onDevice_.emplace(*device_, recorded_));
  }
  for (const RankProgram::Lane& lane : program_.lanes) {
    End end;
    if (lane.sends) {
      end.send = transport.openSend(lane.peer, lane.name, lane.messages);
      end.pending.resize(2 * lane.messages);
    } else {
      end.receive = transport.openReceive(lane.peer, lane.name, lane.messages);
    }
    ends_.push_back(std::move(end));
  }
  for (auto& rounds : rounds_) rounds.resize(program_.reductions.size());
  transport.awaitLanes();
  for (const RankProgram::Transfer& transfer : program_.transfers) {
    const RankProgram::Lane& lane = program_.lanes[static_cast<std::size_t>(transfer.lane)];
    const RankProgram::Job& job = program_.jobs[static_cast<std::size_t>(transfer.job)];
    const bool forward = transfer.key.kind == MessageKind::kActivations;
    const int stage = transfer.stage;
    states_.push_back({.job = {.kind = transferKind(lane.sends, forward),
                               .microBatch = transfer.key.microBatch - program_.firstMicroBatch,
                               .stage = stage,
                               .chunk = stage == job.action.stage ? job.chunk : job.backwardChunk,
                               .peer = lane.peer}});
  }
}

MessageKey RankMessages::keyOf(int transfer, int step) const {
  MessageKey key = program_.transfers[static_cast<std::size_t>(transfer)].key;
  key.step = step;
  return key;
}

void RankMessages::beginStep(int step, std::int64_t rows) {
  const int from = transport_.rowsFrom();
  if (from == Transport::kNoRank) return;
  if (from == transport_.rank()) return transport_.beginStep(step, rows);
  waitFor(from, numberOfAwaited(Awaited::kRows, 0), [&] {
    transport_.beginStep(step, rows);
    return true;
  });
}

void RankMessages::post(int transfer, int step, std::int64_t job) {
  const auto index = static_cast<std::size_t>(transfer);
  State& state = states_[index];
  End& end = ends_[static_cast<std::size_t>(program_.transfers[index].lane)];
  state.job.step = recorded_.inLog(step);
  state.job.id = job;
  if (planned_ != nullptr) {
    state.postedAt = static_cast<std::uint64_t>(planned_->now());
  } else if (onDevice_) {
    isInLine(index, step) ? onDevice_->isNext(state.job) : onDevice_->posted(state.job);
  } else if (records()) {
    state.postedAt = now(state.job);
  }
  state.number = end.receive->post(keyOf(transfer, step));
}

Message RankMessages::take(int transfer, int step) {
  const auto index = static_cast<std::size_t>(transfer);
  State& state = states_[index];
  const MessageKey key = keyOf(transfer, step);
  End& end = ends_[static_cast<std::size_t>(program_.transfers[index].lane)];
  ReceiveLane<Message>::Arrival arrival;
  try {
    arrival = waitFor(state.job.peer, numberOfAwaited(Awaited::kMessage, transfer),
                      [&] { return end.receive->take(state.number, key); });
    awaitTimes(numberOfAwaited(Awaited::kTurn, transfer), key);
  } catch (...) {
    // How long it waited in vain belongs into the log.
    if (records() && device_ == nullptr) {
      record(state.job, state.postedAt, now(state.job), kNotGiven);
    }
    throw;
  }
  if (onDevice_) {
    Message& message = arrival.message;
    if (isInLine(index, step)) return std::move(message);  // jobs wait for it already
    onDevice_->arrived(state.job, message);
    message.tensor = device_->await(message.tensor, message.made.get(),
                                    device_->receives(isForwardTransfer(state.job.kind)));
    message.made = nullptr;
    return std::move(message);
  }
  if (planned_ != nullptr) {
    record(state.job,
           planned_->receive(key, arrival.message, state.job.peer,
                             static_cast<Nanoseconds>(state.postedAt), program_.postsAreOwn));
  } else if (records()) {
    const std::uint64_t arrived = arrival.stamp == 0 ? now(state.job) : arrival.stamp;
    record(state.job, state.postedAt, std::max(arrived, state.postedAt), arrival.message.bytes());
  }
  return std::move(arrival.message);
}

bool RankMessages::isInLine(std::size_t transfer, int step) const {
  const auto lane = static_cast<std::size_t>(program_.transfers[transfer].lane);
  return transport_.isInLine(program_.lanes[lane].name, step);
}

void RankMessages::made(int transfer, int step, std::int64_t job, const Message& message) {
  if (isInLine(static_cast<std::size_t>(transfer), step)) return;
  State& state = states_[static_cast<std::size_t>(transfer)];
  state.job.step = recorded_.inLog(step);
  state.job.id = job;
  onDevice_->made(state.job, message.bytes());
}

void RankMessages::send(int transfer, int step, std::int64_t job, Message message) {
  const auto index = static_cast<std::size_t>(transfer);
  State& state = states_[index];
  const MessageKey key = keyOf(transfer, step);
  state.job.step = recorded_.inLog(step);
  state.job.id = job;
  state.job.bytes = message.bytes();
  const auto lane = static_cast<std::size_t>(program_.transfers[index].lane);
  End& end = ends_[lane];
  if (program_.lanes[lane].back != RankProgram::kNone) awaitCredit(transfer);
  const auto handOver = [&] {
    waitFor(state.job.peer, numberOfAwaited(Awaited::kReceipt, transfer), [&] {
      end.send->send(key, std::move(message));
      return true;
    });
  };
  std::uint64_t begin = 0;
  if (planned_ != nullptr) {
    const std::optional<PlannedTransfers::Span> span = planned_->send(key, message, state.job.peer);
    handOver();
    if (span) return record(state.job, *span);
  } else if (onDevice_) {
    onDevice_->isNext(state.job);
    return handOver();
  } else {
    if (records()) begin = now(state.job);
    handOver();
    if (!records()) return;
  }
  if (end.count == end.pending.size()) collect(end);
  if (end.count == end.pending.size()) return;  // cannot be: the lane holds half as many
  end.pending[(end.first + end.count++) % end.pending.size()] = {
      .job = state.job, .key = key, .begin = begin};
  collect(end);
}

/// Where the plan says when messages move, but not at once.
void RankMessages::awaitTimes(std::uint64_t number, const MessageKey& key) {
  if (planned_ == nullptr) return;
  planned_->awaitTimes(key, [&](int rank) {
    if (control_ != nullptr) control_->waitingFor(rank, number);
  });
  if (control_ != nullptr) control_->waited();
}

bool RankMessages::needsCredit(int transfer) const {
  const auto index = static_cast<std::size_t>(transfer);
  const auto lane = static_cast<std::size_t>(program_.transfers[index].lane);
  return program_.lanes[lane].back != RankProgram::kNone &&
         ends_[lane].sent >= static_cast<std::uint64_t>(program_.credits);
}

// The nth message waits for the acknowledgement of that many credits before.
void RankMessages::awaitCredit(int transfer) {
  const auto at =
      static_cast<std::size_t>(program_.transfers[static_cast<std::size_t>(transfer)].lane);
  const RankProgram::Lane& lane = program_.lanes[at];
  End& end = ends_[at];
  ReceiveLane<Message>& back = *ends_[static_cast<std::size_t>(lane.back)].receive;
  const auto credits = static_cast<std::uint64_t>(program_.credits);
  if (end.sent >= credits) {
    const Message given = waitFor(lane.peer, numberOfAwaited(Awaited::kCredit, transfer), [&] {
                            return back.take(end.sent - credits, kAcknowledgement);
                          }).message;
    if (planned_ != nullptr) planned_->awaitCredit(lane.peer, given.deadline);
    if (given.made != nullptr) given.made->synchronize();
  }
  back.post(kAcknowledgement);
  ++end.sent;
}

void RankMessages::acknowledge(int transfer) {
  const auto index = static_cast<std::size_t>(transfer);
  const auto lane = static_cast<std::size_t>(program_.transfers[index].lane);
  const auto back = static_cast<std::size_t>(program_.lanes[lane].back);
  Message given{.deadline = planned_ != nullptr ? planned_->now() : 0};
  if (device_ != nullptr) given.made = device_->record();
  ends_[back].send->send(kAcknowledgement, std::move(given));
}

void RankMessages::collectSends() {
  for (End& end : ends_) {
    if (end.send) collect(end);
  }
}

void RankMessages::awaitSends() {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const int back = program_.lanes[i].back;
    if (!program_.lanes[i].sends || back == RankProgram::kNone) continue;
    // No acknowledgement may come after the end.
    const auto credits = static_cast<std::uint64_t>(program_.credits);
    for (std::uint64_t n = ends_[i].sent - std::min(credits, ends_[i].sent); n < ends_[i].sent;
         ++n) {
      waitFor(program_.lanes[i].peer, numberOfAwaited(Awaited::kCredit, 0), [&] {
        return ends_[static_cast<std::size_t>(back)].receive->take(n, kAcknowledgement);
      });
    }
  }
  settleSends();
}

void RankMessages::settleSends() {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (!ends_[i].send) continue;
    waitFor(program_.lanes[i].peer, numberOfAwaited(Awaited::kReceipt, 0), [&] {
      ends_[i].send->awaitAll();
      return true;
    });
    while (planned_ != nullptr && ends_[i].count > 0) {
      awaitTimes(numberOfAwaited(Awaited::kReceipt, 0), ends_[i].pending[ends_[i].first].key);
      collect(ends_[i]);
    }
  }
  collectSends();
}

void RankMessages::collect(End& end) {
  while (end.count > 0 && collectFirst(end)) {
    end.first = (end.first + 1) % end.pending.size();
    --end.count;
  }
}

bool RankMessages::collectFirst(End& end) {
  const End::Pending& pending = end.pending[end.first];
  if (planned_ != nullptr) {
    const std::optional<PlannedTransfers::Span> span = planned_->sent(pending.key);
    if (span) record(pending.job, *span);
    return span.has_value();
  }
  const std::optional<std::uint64_t> done = end.send->nextDone();
  if (done) record(pending.job, pending.begin, std::max(*done, pending.begin), pending.job.bytes);
  return done.has_value();
}

void RankMessages::record(const Job& job, std::uint64_t begin, std::uint64_t end,
                          std::int64_t bytes) {
  const StreamId stream = recorded_.of(job);
  recorded_.recorder->begin(stream, job);
  recorded_.recorder->beganAt(stream, begin);
  recorded_.recorder->endAt(stream, end, bytes);
}

void RankMessages::record(const Job& job, const PlannedTransfers::Span& span) {
  if (!records()) return;
  record(job, static_cast<std::uint64_t>(span.begin), static_cast<std::uint64_t>(span.end),
         span.bytes);
}

// The part of RankMessages that moves sums of gradients.

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
