#include "schedule/check/plan_network.h"

#include <algorithm>

namespace pipetrace {

PlanNetwork::PlanNetwork(const Plan& plan, const PlanIndex& index, const MessageRules& rules,
                         const Parts& parts)
    : plan_(plan),
      rules_(rules),
      hasTransfers_(index.hasTransfers()),
      hasLines_(rules.commStreams != CommStreams::kAsReached),
      hasLinks_(parts.links && !hasLines_),
      credits_(parts.credits ? CreditChannels(plan, index) : CreditChannels()),
      versions_(parts.versions),
      index_(&index) {
  if (versions_ != nullptr) meetings_ = UpdateMeetings(plan, *versions_);
  numberActions();
  numberMessages();
  addOperations(parts);
  for (int rank = 0; rank < plan.numRanks(); ++rank) addRow(rank);
  addLinks();
  addMeetings(parts.meetings);
  isComplete_ = network_.order();
  index_ = nullptr;
  versions_ = nullptr;
}

void PlanNetwork::numberActions() {
  std::size_t count = 0;
  for (const auto& row : plan_.ranks) count += row.size();
  actions_.reserve(count);
  rankOf_.reserve(count);
  firstOfRank_.reserve(plan_.ranks.size());
  for (int rank = 0; rank < plan_.numRanks(); ++rank) {
    firstOfRank_.push_back(actionCount());
    for (const Action& action : plan_.ranks[static_cast<std::size_t>(rank)]) {
      actions_.push_back(&action);
      rankOf_.push_back(rank);
    }
  }
}

/// The number of a message that an action needs from another rank; kNone: it needs none.
int PlanNetwork::messageTo(int number, const PlannedMessage& needed) {
  const Position maker = index_->makerOf(needed);
  if (!maker.exists() || maker.rank == rankOf(number)) return kNone;
  const int message = 2 * numberOf(maker) + (needed.forward ? 0 : 1);
  users_[static_cast<std::size_t>(message)] = number;
  return message;
}

void PlanNetwork::numberMessages() {
  users_.assign(2 * actions_.size(), kNone);
  if (hasTransfers_) {
    transfers_.resize(users_.size());
    moved_.assign(actions_.size(), kNone);
  }
  for (int number = 0; number < actionCount(); ++number) {
    const Action& each = action(number);
    if (isTransfer(each.kind)) {
      const PlannedMessage moved = pipetrace::messageOf(each);
      const Position maker = index_->makerOf(moved);
      if (!maker.exists() || !hasTransfers_) continue;
      const int message = 2 * numberOf(maker) + (moved.forward ? 0 : 1);
      moved_[static_cast<std::size_t>(number)] = message;
      Transfers& both = transfers_[static_cast<std::size_t>(message)];
      (isSend(each.kind) ? both.send : both.receive) = number;
      continue;
    }
    if (!hasLinks_) continue;
    for (const PlannedMessage& needed : messagesTo(each)) messageTo(number, needed);
  }
  if (!hasLinks_) return;
  messages_.assign(users_.size(), WaitNetwork::kNone);
  for (int number = 0; number < actionCount(); ++number) {  // as their sender hands them over
    if (isSend(action(number).kind)) ofLinks_.push_back(messageOf(number));
    if (hasTransfers_) continue;
    for (int message = 2 * number; message < 2 * number + 2; ++message) {
      if (userOf(message) != kNone) ofLinks_.push_back(message);
    }
  }
}

void PlanNetwork::addOperations(const Parts& parts) {
  const auto actions = static_cast<std::size_t>(actionCount());
  network_.reserve(plan_.ranks.size() + actions + ofLinks_.size(), 5 * actions / 2);
  network_.addGiven(plan_.ranks.size());
  firstAction_ = network_.add(actions);
  firstMessage_ = network_.add(ofLinks_.size());
  for (std::size_t i = 0; i < ofLinks_.size(); ++i) {
    messages_[static_cast<std::size_t>(ofLinks_[i])] = firstMessage_ + static_cast<Index>(i);
  }
  const bool areHeld = !credits_.channels().empty() && (!hasTransfers_ || hasLines_);
  firstHandOver_ = network_.add(areHeld ? actions : 0);
  firstUpdate_ = network_.add(versions_ != nullptr ? versions_->updates.size() : 0);
  firstReduction_ = network_.add(meetings_.all().size() + parts.meetings.size());
  firstEnd_ = network_.add(parts.meetings.empty() ? 0 : plan_.ranks.size());
  firstCarried_ = static_cast<Index>(network_.size());
}

PlanNetwork::Operation PlanNetwork::operation(Index index) const {
  const auto from = [&](Kind kind, Index first) {
    return Operation{kind, static_cast<int>(index - first)};
  };
  if (index < firstAction_) return from(Kind::kBegin, 0);
  if (index < firstMessage_) return from(Kind::kAction, firstAction_);
  if (index < firstHandOver_) return {Kind::kMessage, ofLinks_[index - firstMessage_]};
  if (index < firstUpdate_) return from(Kind::kHandOver, firstHandOver_);
  if (index < firstReduction_) return from(Kind::kUpdate, firstUpdate_);
  if (index < firstEnd_) return from(Kind::kReduction, firstReduction_);
  if (index < firstCarried_) return from(Kind::kEnd, firstEnd_);
  return from(Kind::kCarried, firstCarried_);
}

/// A row: each action after the one before. With lines its sends and receives are in those.
void PlanNetwork::addRow(int rank) {
  const auto& row = plan_.ranks[static_cast<std::size_t>(rank)];
  Index before = ofBegin(rank);
  int number = firstOfRank_[static_cast<std::size_t>(rank)];
  for (int cell = 0; cell < static_cast<int>(row.size()); ++cell, ++number) {
    const JobKind kind = row[static_cast<std::size_t>(cell)].kind;
    if (isTransfer(kind) && hasLines_) {
      isSend(kind) ? addSendOnLine(number) : addReceiveOnLine(number);
      continue;
    }
    if (isCompute(kind)) addUpdates(rank, cell, before);
    network_.wait(ofAction(number), {before});
    before = ofAction(number);
    if (isSend(kind)) addSend(number);
    if (!isCompute(kind)) continue;
    addCompute(number);
    if (!hasHandOvers()) continue;
    network_.waitToo(ofHandOver(number), {before});
    addCredit(ofHandOver(number), 2 * number);
    before = ofHandOver(number);
  }
  addUpdates(rank, static_cast<int>(row.size()), before);
  lastOfRank_.push_back(before);
}

/// The updates that are due on a rank when it has come to `cell`. Those of a stage on several ranks
/// wait until all have come to it, and their gradients are added.
void PlanNetwork::addUpdates(int rank, int cell, Index& before) {
  if (versions_ == nullptr) return;
  const auto& updates = versions_->updates;
  for (; nextUpdate_ < updates.size(); ++nextUpdate_) {
    const Position after = updates[nextUpdate_].after;
    if (after.rank != rank || after.cell >= cell) return;
    const Index update = ofUpdate(static_cast<int>(nextUpdate_));
    network_.waitToo(update, {before});
    if (const int meeting = meetings_.of(static_cast<int>(nextUpdate_)); meeting >= 0) {
      network_.waitToo(ofReduction(meeting), {.source = before, .reason = WaitReason::kMeeting});
      network_.waitToo(update, {.source = ofReduction(meeting), .reason = WaitReason::kMeeting});
    }
    before = update;
  }
}

/// What its rank makes before it follows from its place.
void PlanNetwork::addCompute(int number) {
  const Index own = ofAction(number);
  const Position at = positionOf(number);
  for (const Position& input : index_->inputsOf(action(number))) {
    if (input.rank != at.rank || input.cell < at.cell) continue;
    network_.wait(own, {.source = ofAction(numberOf(input)), .reason = WaitReason::kInput});
  }
  for (const PlannedMessage& needed : messagesTo(action(number))) {
    const int message = messageTo(number, needed);
    if (message == kNone) continue;
    const Index latency = hasLines_ ? WaitNetwork::kNone : static_cast<Index>(message);
    if (hasLinks_ && ofMessage(message) != WaitNetwork::kNone) {
      network_.wait(own, {.source = ofMessage(message), .reason = WaitReason::kMessage});
    } else if (!hasTransfers_) {
      network_.wait(own, {ofHandOver(makerOf(message)), latency, WaitReason::kMessage});
    } else {
      // The bytes move as soon as both ranks have come to the message.
      for (const int end : {receiveOf(message), sendOf(message)}) {
        if (end != kNone) network_.wait(own, {ofAction(end), latency, WaitReason::kMessage});
      }
    }
  }
}

/// Its rank goes on from it once the message is handed over.
void PlanNetwork::addSend(int number) {
  const Index own = ofAction(number);
  const int message = messageOf(number);
  if (message == kNone) return;
  const Position maker = positionOf(makerOf(message));
  const Position at = positionOf(number);
  if (maker.rank == at.rank && maker.cell > at.cell) {
    network_.wait(own, {.source = ofAction(makerOf(message)), .reason = WaitReason::kInput});
  }
  addCredit(own, message);
  const int receive = receiveOf(message);
  if (receive == kNone || rules_.buffers == kUnboundedBuffers) return;
  if (rules_.buffers == kBlocking) {
    network_.beginTogether(ofAction(receive), own);
  } else if (rules_.buffers == kPostedOnly) {
    network_.wait(own, {.source = ofAction(receive), .reason = WaitReason::kReceive});
  } else {
    addRoom(number, receive);
  }
}

/// Message n of a channel finds room once the receive of message n - buffers is posted.
void PlanNetwork::addRoom(int send, int receive) {
  const std::pair<int, int> channel(rankOf(send), rankOf(receive));
  if (receives_.empty()) {
    for (int number = 0; number < actionCount(); ++number) {
      if (!isTransfer(action(number).kind) || isSend(action(number).kind)) continue;
      const int message = messageOf(number);
      if (message != kNone && sendOf(message) != kNone) {
        receives_[{rankOf(sendOf(message)), rankOf(number)}].push_back(number);
      }
    }
  }
  const std::vector<int>& list = receives_[channel];
  const std::size_t nth = sent_[channel]++;
  const auto room = static_cast<std::size_t>(rules_.buffers);
  if (nth < room || nth - room >= list.size()) return;
  network_.wait(ofAction(send),
                {.source = ofAction(list[nth - room]), .reason = WaitReason::kBuffer});
}

/// A message begins when it is made, its credit is there, and it is its turn at both ends. The host
/// has posted all messages of the step at its begin.
void PlanNetwork::addSendOnLine(int number) {
  const Index own = ofAction(number);
  const int message = messageOf(number);
  const int receive = message != kNone ? receiveOf(message) : kNone;
  if (receive == kNone) return;
  addTurn(own, number, {.peer = rankOf(receive), .sends = true, .forward = isForward(message)});
  network_.wait(own, {.source = ofAction(makerOf(message)), .reason = WaitReason::kMaker});
  addCredit(own, message);
  network_.beginTogether(ofAction(receive), own);
}

void PlanNetwork::addReceiveOnLine(int number) {
  const Index own = ofAction(number);
  const int message = messageOf(number);
  const int send = message != kNone ? sendOf(message) : kNone;
  if (send == kNone) return;
  addTurn(own, number, {.peer = rankOf(send), .sends = false, .forward = isForward(message)});
  network_.wait(own, {.source = ofBegin(rankOf(number)), .reason = WaitReason::kStepBegin});
}

/// One end of a message follows the one before it on its line, or the last one of the step before.
void PlanNetwork::addTurn(Index operation, int number, const MessageEnd& end) {
  const int lines = linesOfRank(rules_.commStreams, plan_.numRanks());
  if (lines == 0) return;
  lines_.resize(plan_.ranks.size() * static_cast<std::size_t>(lines));
  Line& line =
      lines_[static_cast<std::size_t>(rankOf(number) * lines + lineOf(rules_.commStreams, end))];
  if (line.last == WaitNetwork::kNone) {
    line.carried = carry();
    line.last = carried_[line.carried].operation;
  }
  network_.wait(operation, {.source = line.last, .reason = WaitReason::kLine});
  line.last = carried_[line.carried].source = operation;
}

/// The messages from a rank to one other follow each other, and those of the step before.
void PlanNetwork::addLinks() {
  std::vector<Line> links(plan_.ranks.size());  // of one sender, by receiver
  int sender = kNone;
  for (const int message : ofLinks_) {
    const Index own = ofMessage(message);
    if (sender != rankOf(makerOf(message))) links.assign(links.size(), {});
    sender = rankOf(makerOf(message));
    if (hasTransfers_) {
      network_.wait(own, {.source = ofAction(receiveOf(message)), .reason = WaitReason::kReceive});
      network_.wait(own, {.source = ofAction(sendOf(message)), .reason = WaitReason::kMaker});
    } else {
      network_.wait(own, {.source = ofHandOver(makerOf(message)), .reason = WaitReason::kMaker});
    }
    Line& link = links[static_cast<std::size_t>(rankOf(userOf(message)))];
    if (link.last == WaitNetwork::kNone) {
      link.carried = carry();
      link.last = carried_[link.carried].operation;
    }
    network_.wait(own, {link.last, static_cast<Index>(message), WaitReason::kLink});
    link.last = carried_[link.carried].source = own;
  }
}

/// A forward message waits for the end of the action that frees its credit, and for its way back.
void PlanNetwork::addCredit(Index operation, int message) {
  if (credits_.channels().empty() || !isForward(message)) return;
  const CreditChannels::Place place = credits_.placeOf(positionOf(makerOf(message)));
  if (!place.exists()) return;
  const auto& users = credits_.channels()[static_cast<std::size_t>(place.channel)].users;
  const auto count = static_cast<int>(users.size());
  int giver = place.number - plan_.credits;
  const int steps = giver < 0 ? (count - 1 - giver) / count : 0;
  giver += steps * count;
  Index source = ofAction(numberOf(users[static_cast<std::size_t>(giver)]));
  if (steps > 0) {
    const std::size_t carried = carry();
    carried_[carried].source = source;
    carried_[carried].steps = steps;
    source = carried_[carried].operation;
  }
  network_.waitToo(
      operation, {source, static_cast<Index>(messageCount() + place.channel), WaitReason::kCredit});
}

std::size_t PlanNetwork::carry() {
  carried_.push_back({.operation = network_.addGiven()});
  return carried_.size() - 1;
}

/// Meetings at the end of the step. Ranks go on from those of a stage.
void PlanNetwork::addMeetings(std::span<const MeetingOfRanks> meetings) {
  if (meetings.empty()) return;
  for (int rank = 0; rank < plan_.numRanks(); ++rank) {
    Index& last = lastOfRank_[static_cast<std::size_t>(rank)];
    network_.waitToo(firstEnd_ + static_cast<Index>(rank), {last});
    last = firstEnd_ + static_cast<Index>(rank);
  }
  for (std::size_t i = 0; i < meetings.size(); ++i) {
    const MeetingOfRanks& meeting = meetings[i];
    const Index own = ofReduction(static_cast<int>(i));
    for (const Position& member : meeting.members) {
      const Index end = firstEnd_ + static_cast<Index>(member.rank);
      const Index source = meeting.isOfAllRanks ? end : ofAction(numberOf(member));
      network_.waitToo(own, {.source = source, .reason = WaitReason::kMeeting});
      if (meeting.isOfAllRanks) {
        lastOfRank_[static_cast<std::size_t>(member.rank)] = own;
      } else {
        network_.waitToo(end, {.source = own, .reason = WaitReason::kMeeting});
      }
    }
    if (meeting.before >= 0) {
      network_.waitToo(own, {.source = ofReduction(meeting.before), .reason = WaitReason::kLine});
    }
  }
}

}  // namespace pipetrace
