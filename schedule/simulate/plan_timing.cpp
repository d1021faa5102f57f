#include "schedule/simulate/plan_timing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "schedule/check/check.h"
#include "schedule/check/plan_order.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

void requireCosts(const Plan& plan, const Costs& costs) {
  if (costs.stages.size() >= static_cast<std::size_t>(plan.numStages)) return;
  throw Error("cannot simulate " + plan.name + ": costs are given for " +
              std::to_string(costs.stages.size()) + " stages, and it has " +
              std::to_string(plan.numStages));
}

/// Throws Error with the reasons why `plan` cannot run.
void refuse(const Plan& plan) { CheckedPlan{plan}; }

void requireFitForLines(const Plan& plan, const PlanIndex& index) {
  if (!index.hasTransfers() && plan.hasMessages()) {
    throw Error("the messages of " + plan.name +
                " cannot run in line: it has no sends and receives");
  }
}

}  // namespace

PlanTiming::PlanTiming(const Plan& plan, const Costs& costs, CommStreams commStreams)
    : plan_(plan), costs_(costs), commStreams_(commStreams), isForwardOnly_(plan.isForwardOnly()) {
  requireCosts(plan_, costs);
  const PlanIndex index(plan_);
  hasTransfers_ = index.hasTransfers();
  numberActions();
  if (!index.problems().empty()) refuse(plan_);
  if (hasLines()) requireFitForLines(plan_, index);
  const PlanOrder order = planOrder(plan_, index, commStreams_);
  if (!order.complete) requireRunsInLine(CheckedPlan(plan_), commStreams_);
  order_.reserve(order.order.size());
  for (const PlanIndex::Position& position : order.order) order_.push_back(numberOf(position));
  connect(index);
  if (plan_.credits > 0) takeUpCredits(index);
  bool canBeLate = plan_.credits > 0;
  for (int number = 0; number < actionCount() && !canBeLate; ++number) {
    canBeLate = isDataParallel(action(number).kind) && !isEmpty(number);
  }
  if (canBeLate) handedOver_.resize(actions_.size());
  versions_ = weightVersions(plan_);
  meetings_ = UpdateMeetings(plan_, versions_, hasLines());
  reductions_ = plan_.isAsynchronous() ? Reductions(meetings_, costs_) : Reductions(plan_, costs_);
  updateBegins_.resize(versions_.updates.size());
  if (!versions_.updates.empty()) updatesAfter_.resize(actions_.size());
  for (std::size_t i = 0; i < versions_.updates.size(); ++i) {
    const int number = numberOf(versions_.updates[i].after);
    Updates& own = updatesAfter_[static_cast<std::size_t>(number)];
    if (own.count++ == 0) own.first = static_cast<int>(i);
  }
}

void PlanTiming::numberActions() {
  std::size_t count = 0;
  for (const auto& actions : plan_.ranks) count += actions.size();
  actions_.reserve(count);
  rankOf_.reserve(count);
  for (int rank = 0; rank < plan_.numRanks(); ++rank) {
    firstOfRank_.push_back(actionCount());
    for (const Action& action : plan_.ranks[static_cast<std::size_t>(rank)]) {
      actions_.push_back(&action);
      rankOf_.push_back(rank);
    }
  }
  spans_.resize(actions_.size());
  inputs_.assign(2 * actions_.size(), kNone);
  transfers_.resize(2 * actions_.size());
  const std::size_t ranks = plan_.ranks.size();
  if (costs_.bandwidth > 0 && !hasLines()) linkFree_.assign(ranks * ranks, 0);
  linesOfRank_ = static_cast<std::size_t>(linesOfRank(commStreams_, plan_.numRanks()));
  lines_.resize(ranks * linesOfRank_);
}

PlanIndex::Position PlanTiming::positionOf(int number) const {
  const int rank = rankOf(number);
  return {rank, number - firstOfRank_[static_cast<std::size_t>(rank)]};
}

void PlanTiming::connect(const PlanIndex& index) {
  for (int number = 0; number < actionCount(); ++number) {
    if (!isTransfer(action(number).kind)) connectInputs(index, number);
  }
  if (!hasTransfers_) return;
  half_.resize(transfers_.size());
  for (int number = 0; number < actionCount(); ++number) {
    if (!isTransfer(action(number).kind)) continue;
    const PlannedMessage moved = messageOf(action(number));
    const int message = 2 * numberOf(index.makerOf(moved)) + (moved.forward ? 0 : 1);
    inputs_[static_cast<std::size_t>(2 * number)] = message;
    Transfer& transfer = transfers_[static_cast<std::size_t>(message)];
    (isSend(action(number).kind) ? transfer.send : transfer.receive) = number;
  }
}

void PlanTiming::connectInputs(const PlanIndex& index, int number) {
  int count = 0;
  for (const PlannedMessage& needed : messagesTo(action(number))) {
    const PlanIndex::Position maker = index.makerOf(needed);
    if (!maker.exists() || maker.rank == rankOf(number)) continue;
    const int message = 2 * numberOf(maker) + (needed.forward ? 0 : 1);
    inputs_[static_cast<std::size_t>(2 * number + count++)] = message;
    transfers_[static_cast<std::size_t>(message)].user = number;
  }
}

std::int64_t PlanTiming::bytesOf(int message) const {
  const Action& maker = action(makerOf(message));
  int stage = maker.stage;
  if (!isForward(message)) {
    stage = (maker.kind == JobKind::kForwardBackward ? maker.backwardStage : maker.stage) - 1;
  }
  return costs_.stages[static_cast<std::size_t>(stage)].message;
}

Nanoseconds PlanTiming::latencyOf(int message) const {
  if (costs_.faults.links.empty()) return costs_.transfer;
  return costs_.transferBetween(rankOf(makerOf(message)), rankOf(transfer(message).user));
}

Nanoseconds* PlanTiming::linkOf(int message) {
  const auto from = static_cast<std::size_t>(rankOf(makerOf(message)));
  const auto to = static_cast<std::size_t>(rankOf(transfer(message).user));
  return &linkFree_[from * plan_.ranks.size() + to];
}

void PlanTiming::run(std::vector<Nanoseconds>& free, int step) {
  step_ = step;
  std::fill(half_.begin(), half_.end(), 0);
  pendingUpdates_.assign(free.size(), kNone);
  haveMet_.assign(meetings_.all().size(), 0);
  lastCompute_.assign(free.size(), kNone);
  pending_.assign(free.size(), kNone);
  for (Line& line : lines_) line.last = kNone;
  const std::vector<Nanoseconds> begins = hasLines() ? free : std::vector<Nanoseconds>();
  for (const int number : order_) {
    const int rank = rankOf(number);
    Nanoseconds& now = free[static_cast<std::size_t>(rank)];
    if (isTransfer(action(number).kind) && hasLines()) {
      if (isSend(action(number).kind)) moveOnLines(messageOfTransfer(number), begins);
    } else if (isTransfer(action(number).kind)) {
      runTransfer(number, now);
    } else {
      for (int which = 0; which < 2 && !creditChannels_.empty(); ++which) {
        const int input = inputOf(number, which);
        if (input == kNone) continue;
        const int sender = rankOf(makerOf(input));
        const bool isPending = pending_[static_cast<std::size_t>(sender)] == makerOf(input);
        if (isPending) handOverPending(sender, free[static_cast<std::size_t>(sender)]);
      }
      handOverPending(rank, now);
      isDataParallel(action(number).kind) ? runDataParallel(number, now) : runCompute(number, free);
    }
  }
  for (int rank = 0; rank < plan_.numRanks(); ++rank) {
    handOverPending(rank, free[static_cast<std::size_t>(rank)]);
  }
  keepAcknowledgements();
  for (int rank = 0; rank < plan_.numRanks(); ++rank) runUpdates(rank, free);
  reductions_.run(free);
}

/// The updates that are due on a rank.
void PlanTiming::runUpdates(int rank, std::vector<Nanoseconds>& free) {
  const int number = std::exchange(pendingUpdates_[static_cast<std::size_t>(rank)], kNone);
  if (number == kNone) return;
  const Updates due = updatesAfter(number);
  for (int update = due.first; update < due.first + due.count; ++update) {
    const int meeting = meetings_.of(update);
    Nanoseconds& now = free[static_cast<std::size_t>(rank)];
    if (meeting >= 0) now = meet(meeting, free);
    updateBegins_[static_cast<std::size_t>(update)] = now;
    now += costs_.optimizer;
  }
}

/// When all ranks of an update have come, and their gradients are added. The order of the actions
/// has them come before any goes on.
Nanoseconds PlanTiming::meet(int meeting, std::vector<Nanoseconds>& free) {
  const auto at = static_cast<std::size_t>(meeting);
  if (std::exchange(haveMet_[at], 1) != 0) return reductions_.all()[at].end;
  for (const UpdateMeetings::Member& member : meetings_.all()[at].members) {
    Nanoseconds& now = free[static_cast<std::size_t>(member.rank)];
    const bool followsAnother = updatesAfter(numberOf(member.after)).first < member.update;
    if (followsAnother) {
      const auto before = static_cast<std::size_t>(meetings_.of(member.update - 1));
      reductions_.arrive(meeting, member.rank, reductions_.all()[before].end + costs_.optimizer);
      continue;
    }
    handOverPending(member.rank, now);
    reductions_.arrive(meeting, member.rank, now);
  }
  return reductions_.runOfUpdate(meeting);
}

void PlanTiming::runCompute(int number, std::vector<Nanoseconds>& times) {
  const int ofRank = rankOf(number);
  runUpdates(ofRank, times);
  if (updatesAfter(number).count > 0) pendingUpdates_[static_cast<std::size_t>(ofRank)] = number;
  Nanoseconds& free = times[static_cast<std::size_t>(ofRank)];
  Span& span = spans_[static_cast<std::size_t>(number)];
  span.begin = free;
  for (int which = 0; which < 2; ++which) {
    const int input = inputOf(number, which);
    if (input != kNone) span.begin = std::max(span.begin, transfer(input).end);
  }
  span.begin += latenessOf(number);
  free = span.end = span.begin + costs_.timeOf(action(number));
  if (!costs_.faults.jobs.empty()) {
    free = span.end += costs_.faults.of(action(number), step_).longer;
  }
  const auto rank = static_cast<std::size_t>(rankOf(number));
  lastCompute_[rank] = number;
  if (!handedOver_.empty()) handedOver_[static_cast<std::size_t>(number)] = span.end;
  if (hasLines() ? creditChannels_.empty() : hasTransfers_) return;
  pending_[rank] = number;
  // The action that gives a credit may still be to come here.
  if (creditChannels_.empty()) handOverPending(rankOf(number), free);
}

/// It comes before the updates that are due, as gradients are reduced for them.
void PlanTiming::runDataParallel(int number, Nanoseconds& free) {
  Span& span = spans_[static_cast<std::size_t>(number)];
  span = {free, free};
  const PlanIndex::Position at = positionOf(number);
  if (const int reduction = reductions_.at(at.rank, at.cell); reduction != Reductions::kNone) {
    return reductions_.arrive(reduction, at.rank, free);
  }
  if (isEmpty(number)) return;
  span.begin += latenessOf(number);
  free = span.end = span.begin + costs_.faults.of(action(number), step_).longer;
  const int before = lastCompute_[static_cast<std::size_t>(rankOf(number))];
  if (before != kNone) handedOver_[static_cast<std::size_t>(before)] = free;
}

/// Sends the messages of the last action of a rank, in a plan without transfers. With lines, the
/// rank waits for the credit that they need.
void PlanTiming::handOverPending(int rank, Nanoseconds& free) {
  const int number = std::exchange(pending_[static_cast<std::size_t>(rank)], kNone);
  if (number == kNone) return;
  if (hasLines()) {
    free = std::max(free, creditOf(2 * number).given);
    handedOver_[static_cast<std::size_t>(number)] = free;
    return;
  }
  for (int message = 2 * number; message < 2 * number + 2; ++message) {
    Transfer& made = transfers_[static_cast<std::size_t>(message)];
    if (made.user == kNone) continue;
    handOver(message, free);
    made.posted = made.sent;
    move(message);
  }
}

void PlanTiming::takeUpCredits(const PlanIndex& index) {
  const CreditGivers credits(plan_, index);
  for (const CreditGivers::Channel& channel : credits.channels()) {
    CreditChannel& own = creditChannels_.emplace_back();
    for (const PlanIndex::Position& user : channel.users) own.users.push_back(numberOf(user));
    own.back = costs_.transferBetween(channel.receiver, channel.sender);
  }
  for (int number = 0; number < actionCount(); ++number) {
    creditPlaces_.push_back(credits.placeOf(positionOf(number)));
  }
}

PlanTiming::Credit PlanTiming::creditOf(int message) const {
  if (creditChannels_.empty() || !isForward(message)) return {};
  const auto place = creditPlaces_[static_cast<std::size_t>(makerOf(message))];
  if (!place.exists()) return {};
  const CreditChannel& channel = creditChannels_[static_cast<std::size_t>(place.channel)];
  const int before = place.number - plan_.credits;
  if (before >= 0) {
    const int giver = channel.users[static_cast<std::size_t>(before)];
    return {spans_[static_cast<std::size_t>(giver)].end + channel.back, giver};
  }
  const int known = static_cast<int>(channel.ofStepsBefore.size());
  if (known + before < 0) return {};
  return {channel.ofStepsBefore[static_cast<std::size_t>(known + before)], kNone};
}

/// Waits for the credit of a message, if it needs one.
void PlanTiming::awaitCredit(int message, Nanoseconds& free) {
  Transfer& sent = transfers_[static_cast<std::size_t>(message)];
  const Credit credit = creditOf(message);
  sent.waitedForCredit = credit.given > free;
  if (!sent.waitedForCredit) return;
  sent.giver = credit.giver;
  free = sent.creditCame = credit.given;
}

void PlanTiming::handOver(int message, Nanoseconds& free) {
  Transfer& sent = transfers_[static_cast<std::size_t>(message)];
  awaitCredit(message, free);
  sent.sent = free;
  const int maker = lastCompute_[static_cast<std::size_t>(rankOf(makerOf(message)))];
  if (!handedOver_.empty()) handedOver_[static_cast<std::size_t>(maker)] = free;
}

/// The next step's first messages wait for them.
void PlanTiming::keepAcknowledgements() {
  for (CreditChannel& channel : creditChannels_) {
    auto& kept = channel.ofStepsBefore;
    for (const int user : channel.users) {
      kept.push_back(spans_[static_cast<std::size_t>(user)].end + channel.back);
    }
    const auto most = static_cast<std::size_t>(plan_.credits);
    if (kept.size() > most) {
      kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(most));
    }
  }
}

void PlanTiming::runTransfer(int number, Nanoseconds& free) {
  Span& span = spans_[static_cast<std::size_t>(number)];
  span.begin = free;
  const int message = messageOfTransfer(number);
  Transfer& moved = transfers_[static_cast<std::size_t>(message)];
  if (isSend(action(number).kind)) {
    handOver(message, free);
  } else {
    moved.posted = free;
  }
  span.end = free;
  char& half = half_[static_cast<std::size_t>(message)];
  if (half != 0) move(message);
  half = 1;
}

void PlanTiming::move(int message) {
  Transfer& moved = transfers_[static_cast<std::size_t>(message)];
  moved.begin = std::max(moved.sent, moved.posted);
  if (costs_.bandwidth <= 0) {
    moved.end = moved.begin + latencyOf(message);
    return;
  }
  Nanoseconds& link = *linkOf(message);
  moved.begin = std::max(moved.begin, link);
  link = moved.begin + costs_.wireTimeOf(bytesOf(message));
  moved.end = link + latencyOf(message);
}

PlanTiming::Line& PlanTiming::lineOf(int rank, const MessageEnd& end) {
  return lines_[static_cast<std::size_t>(rank) * linesOfRank_ +
                static_cast<std::size_t>(pipetrace::lineOf(commStreams_, end))];
}

/// The host has posted all messages of the step at its begin.
void PlanTiming::moveOnLines(int message, const std::vector<Nanoseconds>& begins) {
  Transfer& moved = transfers_[static_cast<std::size_t>(message)];
  const int sender = rankOf(makerOf(message));
  const int receiver = rankOf(moved.user);
  const Nanoseconds length = latencyOf(message) + costs_.wireTimeOf(bytesOf(message));
  moved.sent = span(makerOf(message)).end;
  awaitCredit(message, moved.sent);
  moved.posted = begins[static_cast<std::size_t>(receiver)];
  moved.beforeOnSender = moved.beforeOnReceiver = kNone;
  Line* sends = nullptr;
  Line* receives = nullptr;
  if (!lines_.empty()) {
    const bool forward = isForward(message);
    sends = &lineOf(sender, {.peer = receiver, .sends = true, .forward = forward});
    receives = &lineOf(receiver, {.peer = sender, .sends = false, .forward = forward});
    moved.sent = std::max(moved.sent, sends->free);
    moved.posted = std::max(moved.posted, receives->free);
    moved.beforeOnSender = sends->last;
    moved.beforeOnReceiver = receives->last;
  }
  moved.begin = std::max(moved.sent, moved.posted);
  moved.end = moved.begin + length;
  if (sends != nullptr) *sends = *receives = {moved.end, message};
  for (const int number : {moved.send, moved.receive}) {
    spans_[static_cast<std::size_t>(number)] = {moved.begin, moved.end};
  }
}

}  // namespace pipetrace
