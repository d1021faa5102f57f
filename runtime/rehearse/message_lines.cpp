#include "runtime/rehearse/message_lines.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/lanes/lane.h"
#include "runtime/lanes/message_header.h"
#include "schedule/planned_message.h"

namespace pipetrace {

MessageLines::MessageLines(const CheckedPlan& plan, const Costs& costs, CommStreams commStreams)
    : numMicroBatches_(plan->numMicroBatches),
      messages_(static_cast<std::size_t>(2 * plan->numStages * plan->numMicroBatches)),
      ranks_(plan->ranks.size()) {
  std::map<std::pair<int, int>, int> lines;  // by rank and line of it
  const auto addToLine = [&](int rank, const MessageEnd& end, int message) {
    if (commStreams == CommStreams::kMessage) return kNone;
    const auto [line, isNew] =
        lines.try_emplace({rank, lineOf(commStreams, end)}, static_cast<int>(lines_.size()));
    if (isNew) lines_.emplace_back();
    lineAt(line->second)->order.push_back(message);
    return line->second;
  };
  for (int rank = 0; rank < plan->numRanks(); ++rank) {
    for (const Action& action : plan->ranks[static_cast<std::size_t>(rank)]) {
      if (!isTransfer(action.kind)) continue;
      const PlannedMessage what = messageOf(action);
      const auto index = static_cast<int>(
          placeOf({.stage = what.to(),
                   .microBatch = what.microBatch,
                   .kind = what.forward ? MessageKind::kActivations : MessageKind::kGradients}));
      Moving& message = at(index);
      message.sender = plan->rankOf(what.from, what.microBatch);
      message.receiver = plan->rankOf(what.to(), what.microBatch);
      if (isSend(action.kind)) {
        message.sendLine = addToLine(
            rank, {.peer = message.receiver, .sends = true, .forward = what.forward}, index);
        continue;
      }
      message.receiveLine =
          addToLine(rank, {.peer = message.sender, .sends = false, .forward = what.forward}, index);
      rankAt(rank).receives.push_back(index);
      // The output of a stage is as long as the gradient that comes back to it.
      const int stage = std::min(what.from, what.to());
      message.length = costs.transferBetween(message.sender, message.receiver) +
                       costs.wireTimeOf(costs.stages.at(static_cast<std::size_t>(stage)).message);
    }
  }
}

std::size_t MessageLines::placeOf(const MessageKey& key) const {
  const int stageAndPart = key.stage * numMicroBatches_ + key.microBatch;
  return static_cast<std::size_t>(2 * stageAndPart +
                                  (key.kind == MessageKind::kActivations ? 0 : 1));
}

void MessageLines::beginStep(int rank, Nanoseconds time) {
  const std::lock_guard lock(mutex_);
  Rank& own = rankAt(rank);
  ++own.steps;
  own.begin = time;
  moveAll(own.receives);
  tellWaiting(rank);
}

void MessageLines::made(const MessageKey& key, Nanoseconds time) {
  const std::lock_guard lock(mutex_);
  const auto message = static_cast<int>(placeOf(key));
  at(message).made.push_back(time);
  moveAll({message});
  tellWaiting(at(message).sender);
}

/// The message that has to move before `message` on one of its lines; kNone: it is its turn.
int MessageLines::inFrontOf(int message, int line) const {
  if (line == kNone) return kNone;
  const int next = lines_[static_cast<std::size_t>(line)].next();
  return next == message ? kNone : next;
}

bool MessageLines::canMove(int message) const {
  const Moving& moving = at(message);
  return !moving.made.empty() &&
         ranks_[static_cast<std::size_t>(moving.receiver)].steps > moving.steps &&
         inFrontOf(message, moving.sendLine) == kNone &&
         inFrontOf(message, moving.receiveLine) == kNone;
}

void MessageLines::move(int message) {
  Moving& moving = at(message);
  Times times{.sent = moving.made.front()};
  // It is that of the message's own step: a rank begins no other before it has all its messages.
  times.posted = rankAt(moving.receiver).begin;
  Line* const sends = lineAt(moving.sendLine);
  Line* const receives = lineAt(moving.receiveLine);
  if (sends != nullptr) times.sent = std::max(times.sent, sends->free);
  if (receives != nullptr) times.posted = std::max(times.posted, receives->free);
  times.end = std::max(times.sent, times.posted) + moving.length;
  for (Line* const line : {sends, receives}) {
    if (line == nullptr) continue;
    line->free = times.end;
    ++line->moved;
  }
  moving.made.erase(moving.made.begin());
  moving.known.push_back({.times = times});
  ++moving.steps;
  for (const int end : {moving.sender, moving.receiver}) {
    if (rankAt(end).message == message) rankAt(end).changed.notify_all();
  }
}

/// Moves what can move, and what can move then.
void MessageLines::moveAll(std::vector<int> messages) {
  while (!messages.empty()) {
    const int message = messages.back();
    messages.pop_back();
    if (!canMove(message)) continue;
    move(message);
    messages.push_back(message);  // that of the next step may be made already
    for (const int line : {at(message).sendLine, at(message).receiveLine}) {
      if (line != kNone) messages.push_back(lineAt(line)->next());
    }
  }
}

/// The rank without which `message` cannot move next.
int MessageLines::awaitedRank(int message) const {
  while (true) {
    const Moving& moving = at(message);
    int before = inFrontOf(message, moving.sendLine);
    if (before == kNone) before = inFrontOf(message, moving.receiveLine);
    if (before == kNone) return moving.made.empty() ? moving.sender : moving.receiver;
    message = before;
  }
}

/// Those that waited for `rank` may wait for another one now.
void MessageLines::tellWaiting(int rank) {
  for (Rank& waiting : ranks_) {
    if (waiting.message == kNone || waiting.awaited != rank) continue;
    if (awaitedRank(waiting.message) != rank) waiting.changed.notify_all();
  }
}

std::optional<MessageLines::Times> MessageLines::take(const MessageKey& key) {
  const std::lock_guard lock(mutex_);
  Moving& moving = at(static_cast<int>(placeOf(key)));
  if (key.step >= moving.steps) return std::nullopt;
  const auto back = static_cast<std::ptrdiff_t>(moving.steps - key.step);
  const auto moved = moving.known.end() - back;
  const Times times = moved->times;
  // An end takes its messages in the order of steps, so those before are taken, too.
  if (++moved->taken == 2) moving.known.erase(moved);
  return times;
}

void MessageLines::await(int rank, const MessageKey& key, const OnWait& onWait) {
  std::unique_lock lock(mutex_);
  const auto message = static_cast<int>(placeOf(key));
  Rank& own = rankAt(rank);
  while (at(message).steps <= key.step) {
    if (stopped_) {
      own.message = kNone;
      throw PeerLost("rank " + std::to_string(rank) + " gave up " +
                     waitingFor(key, at(message).sender) + ": " + *stopped_);
    }
    own.message = message;
    own.awaited = awaitedRank(message);
    onWait(own.awaited);
    own.changed.wait(lock);
  }
  own.message = kNone;
}

void MessageLines::stop(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (!stopped_) stopped_ = reason;
  for (Rank& rank : ranks_) rank.changed.notify_all();
}

}  // namespace pipetrace
