#include "schedule/check/transfer_problems.h"

#include <map>
#include <string>
#include <utility>

namespace pipetrace {
namespace {

using Position = PlanIndex::Position;

void findUnmatched(const PlannedMessage& message, const PlanIndex& index, ProblemList& problems) {
  const Position send = index.sendAt(message);
  const Position receive = index.receiveAt(message);
  if (send.exists() && receive.exists()) return;
  const std::string sendText = toText(sendOf(message));
  const std::string receiveText = toText(receiveOf(message));
  if (send.exists()) {
    problems.add(
        {send.rank, send.cell, sendText + " has no receive: " + receiveText + " is missing"});
  } else if (receive.exists()) {
    problems.add(
        {receive.rank, receive.cell, receiveText + " has no send: " + sendText + " is missing"});
  } else if (const Position user = index.userOf(message); user.exists()) {
    problems.add({user.rank, user.cell,
                  toText(index.at(user)) + " gets no input: " + sendText + " and " + receiveText +
                      " are missing"});
  }
}

/// By channel (sender, receiver): the places of its sends, or of its receives.
using Channels = std::map<std::pair<int, int>, std::vector<Position>>;

Channels channelsOf(const Plan& plan, const PlanIndex& index, bool sends) {
  Channels channels;
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (!isTransfer(actions[i].kind) || isSend(actions[i].kind) != sends) continue;
      const PlannedMessage message = messageOf(actions[i]);
      const int sender = sends ? rank : index.sendAt(message).rank;
      const int receiver = sends ? index.receiveAt(message).rank : rank;
      channels[{sender, receiver}].push_back({rank, static_cast<int>(i)});
    }
  }
  return channels;
}

void findUnordered(const Plan& plan, const PlanIndex& index, ProblemList& problems) {
  const Channels sends = channelsOf(plan, index, true);
  for (const auto& [ranks, receives] : channelsOf(plan, index, false)) {
    const std::vector<Position>& sent = sends.at(ranks);
    for (std::size_t i = 0; i < receives.size(); ++i) {
      const Action& receive = index.at(receives[i]);
      const Action& send = index.at(sent[i]);
      if (messageOf(receive) == messageOf(send)) continue;
      problems.add({receives[i].rank, receives[i].cell,
                    toText(receive) + " is out of order: message " + std::to_string(i) +
                        " from rank " + std::to_string(ranks.first) + " is sent by " +
                        toText(send) + " (rank " + std::to_string(sent[i].rank) + ", cell " +
                        std::to_string(sent[i].cell) + ")"});
      break;  // the others of the channel follow from that
    }
  }
}

}  // namespace

ProblemList transferProblems(const Plan& plan, const PlanIndex& index) {
  ProblemList problems;
  if (!index.hasTransfers()) return problems;
  for (int stage = 0; stage < index.size().stages; ++stage) {
    for (int m = 0; m < index.size().microBatches; ++m) {
      for (const bool forward : {true, false}) {
        if (!forward && index.isForwardOnly()) continue;
        const PlannedMessage message{forward, stage, m};
        if (index.crossesRanks(message)) findUnmatched(message, index, problems);
      }
    }
  }
  if (problems.empty() && index.problems().empty()) findUnordered(plan, index, problems);
  return problems;
}

}  // namespace pipetrace
