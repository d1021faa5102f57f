#include "schedule/simulate/plan_timing.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "schedule/check/check.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using Index = PlanNetwork::Index;

/// Long before any step, and far enough from the least number to be reckoned with.
constexpr Nanoseconds kLongAgo = kNsMin / 2;

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
    : plan_(plan),
      costs_(costs),
      isForwardOnly_(plan.isForwardOnly()),
      network_(networkOf(commStreams)),
      times_(network_.waits()) {
  if (!costs.faults.links.empty()) findLinks();
  for (const CreditChannels::Channel& channel : network_.credits().channels()) {
    acknowledgements_.push_back(costs.transferBetween(channel.receiver, channel.sender));
  }
  for (const PlanNetwork::Carried& carried : network_.carried()) {
    kept_.emplace_back(static_cast<std::size_t>(carried.steps), kLongAgo);
  }
}

void PlanTiming::findLinks() {
  const std::vector<Faults::Link>& links = costs_.faults.links;
  std::map<std::pair<int, int>, int> byRanks;
  for (std::size_t i = 0; i < links.size(); ++i) {
    byRanks[std::minmax(links[i].rank, links[i].peer)] = static_cast<int>(i);  // the last counts
  }
  linkOf_.assign(static_cast<std::size_t>(messageCount()), kNone);
  for (int message = 0; message < messageCount(); ++message) {
    const int user = network_.userOf(message);
    if (user == kNone) continue;
    const auto link =
        byRanks.find(std::minmax(rankOf(PlanNetwork::makerOf(message)), rankOf(user)));
    if (link != byRanks.end()) linkOf_[static_cast<std::size_t>(message)] = link->second;
  }
}

PlanNetwork PlanTiming::networkOf(CommStreams commStreams) {
  requireCosts(plan_, costs_);
  const PlanIndex index(plan_);
  if (!index.problems().empty()) refuse(plan_);
  if (commStreams != CommStreams::kAsReached) requireFitForLines(plan_, index);
  versions_ = weightVersions(plan_);
  PlanNetwork::Parts parts{.links = costs_.bandwidth > 0};
  std::vector<MeetingOfRanks> meetings;
  if (plan_.isAsynchronous()) {
    parts.versions = &versions_;
    reductions_ = reductionsOf(UpdateMeetings(plan_, versions_), costs_);
  } else {
    reductions_ = reductionsOf(plan_, costs_);
    meetings = meetingsOf(reductions_);
    parts.meetings = meetings;
  }
  PlanNetwork network(plan_, index, {.commStreams = commStreams}, parts);
  if (!network.isComplete()) {
    requireRunsInLine(CheckedPlan(plan_), commStreams);
    throw Error("cannot simulate " + plan_.name + ": its actions wait for each other");
  }
  return network;
}

void PlanTiming::run(std::vector<Nanoseconds>& free, int step) {
  step_ = step;
  for (int rank = 0; rank < plan_.numRanks(); ++rank) {
    times_.give(network_.ofBegin(rank), free[static_cast<std::size_t>(rank)]);
  }
  if (!kept_.empty()) takeOver();
  const auto run = [&](const auto& launchOf) {
    times_.run([&](Index operation) { return durationOf(operation); },
               [&](const PlanNetwork::Wait& wait) { return lagOf(wait); },
               [](Index) { return kNsMin; }, launchOf);
  };
  if (costs_.faults.jobs.empty()) {
    run([](Index) { return Nanoseconds{0}; });
  } else {
    run([&](Index operation) {
      return network_.isAction(operation) ? latenessOf(network_.actionAt(operation))
                                          : Nanoseconds{0};
    });
  }
  for (int rank = 0; rank < plan_.numRanks(); ++rank) {
    free[static_cast<std::size_t>(rank)] = times_.end(network_.ofEnd(rank));
  }
  if (!kept_.empty()) keepForNextSteps();
  if (!reductions_.empty()) timeReductions();
}

Nanoseconds PlanTiming::durationOf(Index operation) const {
  if (!network_.isAction(operation)) return durationOfOther(operation);
  const int number = network_.actionAt(operation);
  const Action& each = action(number);
  if (isTransfer(each.kind)) {
    if (!network_.hasLines()) return 0;
    const int message = network_.messageOf(number);
    return latencyOf(message) + costs_.wireTimeOf(bytesOf(message));
  }
  const Nanoseconds time = costs_.timeOf(each);
  return costs_.faults.jobs.empty() ? time : time + costs_.faults.of(each, step_).longer;
}

Nanoseconds PlanTiming::durationOfOther(Index operation) const {
  using Kind = PlanNetwork::Kind;
  const PlanNetwork::Operation other = network_.operation(operation);
  switch (other.kind) {
    case Kind::kMessage: return latencyOf(other.number) + costs_.wireTimeOf(bytesOf(other.number));
    case Kind::kUpdate: return costs_.optimizer;
    case Kind::kReduction: return reductions_[static_cast<std::size_t>(other.number)].length;
    default: return 0;
  }
}

Nanoseconds PlanTiming::lagOf(const PlanNetwork::Wait& wait) const {
  if (wait.reason == WaitReason::kCredit) {
    return acknowledgements_[static_cast<std::size_t>(network_.channelOf(wait.lag))];
  }
  const Nanoseconds latency = latencyOf(static_cast<int>(wait.lag));
  // The bytes are off the link that much before they are there.
  return wait.reason == WaitReason::kLink ? -latency : latency;
}

Nanoseconds PlanTiming::latencyOf(int message) const {
  const int link = linkOf_.empty() ? kNone : linkOf_[static_cast<std::size_t>(message)];
  if (link == kNone) return costs_.transfer;
  return costs_.faults.links[static_cast<std::size_t>(link)].transfer;
}

std::int64_t PlanTiming::bytesOf(int message) const {
  const Action& maker = action(PlanNetwork::makerOf(message));
  int stage = maker.stage;
  if (!PlanNetwork::isForward(message)) {
    stage = (maker.kind == JobKind::kForwardBackward ? maker.backwardStage : maker.stage) - 1;
  }
  return costs_.stages[static_cast<std::size_t>(stage)].message;
}

/// When all that it waits for itself was over.
Nanoseconds PlanTiming::readyAt(Index operation) const {
  Nanoseconds ready = kNsMin;
  for (const PlanNetwork::Wait& wait : network_.waits().waits(operation)) {
    ready = std::max(ready, endOf(wait));
  }
  return ready;
}

PlanTiming::Transfer PlanTiming::transfer(int message) const {
  const int receive = network_.receiveOf(message);
  Transfer moved;
  if (network_.hasLines()) {
    const Index send = network_.ofAction(network_.sendOf(message));
    const Span span = spanOf(send);
    return {readyAt(send), readyAt(network_.ofAction(receive)), span.begin, span.end};
  }
  moved.sent =
      times_.end(network_.hasTransfers() ? network_.ofAction(network_.sendOf(message))
                                         : network_.ofHandOver(PlanNetwork::makerOf(message)));
  moved.posted = network_.hasTransfers() ? times_.end(network_.ofAction(receive)) : moved.sent;
  if (network_.hasLinks()) {
    const Span span = spanOf(network_.ofMessage(message));
    moved.begin = span.begin;
    moved.end = span.end;
  } else {
    moved.begin = std::max(moved.sent, moved.posted);
    moved.end = moved.begin + latencyOf(message);
  }
  return moved;
}

/// What is carried ends as it did in the steps before.
void PlanTiming::takeOver() {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    times_.give(network_.carried()[i].operation, kept_[i][runs_ % kept_[i].size()]);
  }
}

void PlanTiming::keepForNextSteps() {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    kept_[i][runs_ % kept_[i].size()] = times_.end(network_.carried()[i].source);
  }
  ++runs_;
}

void PlanTiming::timeReductions() {
  for (std::size_t i = 0; i < reductions_.size(); ++i) {
    const Index operation = network_.ofReduction(static_cast<int>(i));
    const Span span = spanOf(operation);
    reductions_[i].begin = span.begin;
    reductions_[i].end = span.end;
    const auto waits = network_.waits().waits(operation);  // for its members, in their order
    for (std::size_t m = 0; m < reductions_[i].members.size(); ++m) {
      reductions_[i].members[m].arrived = times_.end(waits[m].source);
    }
  }
}

}  // namespace pipetrace
