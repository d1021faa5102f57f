#include "schedule/check/wait_rules.h"

#include <map>
#include <utility>

namespace pipetrace {

WaitRules::WaitRules(const Plan& plan, const PlanIndex& index, const MessageRules& rules,
                     const CreditGivers* credits)
    : plan_(plan),
      index_(index),
      buffers_(rules.buffers),
      hasLines_(rules.commStreams != CommStreams::kAsReached),
      credits_(credits != nullptr && !credits->channels().empty() ? credits : nullptr) {
  if (buffers_ > 0 && index_.hasTransfers()) findRoomMakers();
  if (UpdateMeetings::exist(plan) && index.problems().empty() && !wrongUpdates(plan)) {
    meetings_ = UpdateMeetings(plan, weightVersions(plan), hasLines_);
  }
}

/// A rank comes to an update when it has sent what it made before.
std::vector<WaitRules::Wait> WaitRules::waitsForUpdates(Position position) const {
  std::vector<Wait> waits;
  for (const int meeting : meetings_.before(position)) {
    for (const UpdateMeetings::Member& member :
         meetings_.all()[static_cast<std::size_t>(meeting)].members) {
      if (member.rank == position.rank) continue;
      waits.push_back({member.last});
      if (credits_ == nullptr || (index_.hasTransfers() && !hasLines_)) continue;
      const Position giver = credits_->giverOf(member.after);
      if (giver.exists()) waits.push_back({giver, false, true});
    }
  }
  return waits;
}

/// Message n of a channel finds room once the receive of message n - buffers is posted.
void WaitRules::findRoomMakers() {
  std::map<std::pair<int, int>, std::vector<Position>> receives;
  std::map<std::pair<int, int>, std::size_t> sent;
  const auto visit = [&](bool sends, const auto& what) {
    for (int rank = 0; rank < plan_.numRanks(); ++rank) {
      const auto& actions = plan_.ranks[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < actions.size(); ++i) {
        if (!isTransfer(actions[i].kind) || isSend(actions[i].kind) != sends) continue;
        const PlannedMessage message = messageOf(actions[i]);
        const Position other = sends ? index_.receiveAt(message) : index_.sendAt(message);
        if (other.exists()) what(Position{rank, static_cast<int>(i)}, other.rank);
      }
    }
  };
  visit(false, [&](Position at, int sender) { receives[{sender, at.rank}].push_back(at); });
  for (const auto& actions : plan_.ranks) roomMakers_.emplace_back(actions.size());
  visit(true, [&](Position at, int receiver) {
    const std::size_t number = sent[{at.rank, receiver}]++;
    const auto& list = receives[{at.rank, receiver}];
    const auto room = static_cast<std::size_t>(buffers_);
    if (number < room || number - room >= list.size()) return;
    roomMakers_[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.cell)] =
        list[number - room];
  });
}

WaitRules::Waits WaitRules::waitsOf(Position position) const {
  Waits waits;
  const Action& action = index_.at(position);
  if (isSend(action.kind)) {
    addSend(action, position, waits);
  } else if (isTransfer(action.kind)) {
    const Position send = index_.sendAt(messageOf(action));
    if (hasLines_ && send.exists()) waits.add(send);  // they move together
    if (!hasLines_ && buffers_ == kBlocking && send.exists()) waits.add(send, true);
  } else {
    addInputs(action, position, waits);
  }
  return waits;
}

void WaitRules::addSend(const Action& action, Position position, Waits& waits) const {
  const PlannedMessage message = messageOf(action);
  const Position maker = index_.makerOf(message);
  if (maker.exists()) waits.add(maker);
  if (credits_ != nullptr && message.forward) addCreditOf(maker, waits);
  if (hasLines_ || buffers_ == kBlocking || buffers_ == kPostedOnly) {
    const Position receive = index_.receiveAt(message);
    if (receive.exists()) waits.add(receive, hasLines_ || buffers_ == kBlocking);
    return;
  }
  if (buffers_ == kUnboundedBuffers) return;
  const Position room =
      roomMakers_[static_cast<std::size_t>(position.rank)][static_cast<std::size_t>(position.cell)];
  if (room.exists()) waits.add(room);
}

/// Without sends, all that follows from an action waits for the credit of its message.
void WaitRules::addCreditOf(Position maker, Waits& waits) const {
  const Position giver = credits_->giverOf(maker);
  if (giver.exists()) waits.addCredit(giver);
}

/// On lines, a rank hands a message over when it has made it.
void WaitRules::addCreditOfComputeBefore(Position position, Waits& waits) const {
  while (--position.cell >= 0) {
    if (isCompute(index_.at(position).kind)) return addCreditOf(position, waits);
  }
}

void WaitRules::addInputs(const Action& action, Position position, Waits& waits) const {
  for (const Position& input : index_.inputsOf(action)) {
    if (input.rank == position.rank || !index_.hasTransfers()) waits.add(input);
    const bool isSent = input.rank != position.rank && !index_.hasTransfers();
    if (credits_ != nullptr && isSent) addCreditOf(input, waits);
  }
  if (!index_.hasTransfers()) {
    const bool isFirst = position.cell == 0;
    if (credits_ != nullptr && !isFirst) addCreditOf({position.rank, position.cell - 1}, waits);
    return;
  }
  if (hasLines_ && credits_ != nullptr) addCreditOfComputeBefore(position, waits);
  for (const PlannedMessage& message : messagesTo(action)) {
    if (!index_.crossesRanks(message)) continue;
    const Position receive = index_.receiveAt(message);
    const Position send = index_.sendAt(message);
    if (receive.exists()) waits.add(receive);
    // The bytes move as soon as both ranks have come to the message.
    if (send.exists()) waits.add(send, !hasLines_ && buffers_ == kPostedOnly);
  }
}

}  // namespace pipetrace
