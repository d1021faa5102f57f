#include "schedule/add_transfers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schedule/check/plan_index.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// The messages that one rank gets from one other, in the order in which they are sent.
struct Channel {
  std::vector<PlannedMessage> messages;
  std::size_t posted = 0;
  int outstanding = 0;  // posted and not used yet
};

class Pass {
 public:
  Pass(const Plan& plan, int ahead) : plan_(plan), ahead_(ahead), index_(plan) {
    channels_.resize(plan.ranks.size());
    for (int rank = 0; rank < plan.numRanks(); ++rank) {
      for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
        for (const PlannedMessage& message : messagesFrom(action)) {
          if (!index_.crossesRanks(message)) continue;
          const int receiver = plan.rankOf(message.to(), message.microBatch);
          channels_[static_cast<std::size_t>(receiver)][rank].messages.push_back(message);
        }
      }
    }
  }

  Plan run() {
    Plan full = plan_;
    for (std::size_t r = 0; r < full.ranks.size(); ++r) {
      full.ranks[r] = fullRow(plan_.ranks[r], channels_[r]);
    }
    return full;
  }

 private:
  using Channels = std::map<int, Channel>;  // by sender

  std::vector<Action> fullRow(const std::vector<Action>& actions, Channels& channels) const {
    std::vector<Action> row;
    row.reserve(actions.size() * 3);
    for (auto& [sender, channel] : channels) postAhead(channel, row);
    auto user = actions.begin();
    for (auto at = actions.begin(); at != actions.end(); ++at) {
      const Action& action = *at;
      postFor(action, channels, row);
      // The gradient is on its way while its rank recomputes.
      if (isRecompute(action) && user <= at) {
        user = std::find_if_not(at, actions.end(), [](const Action& next) {
          return isRecompute(next) || isDataParallel(next.kind);
        });
        if (user != actions.end()) postFor(*user, channels, row);
      }
      row.push_back(action);
      // Where a send may wait for a credit, the messages that the end of this action lets in do
      // not wait for that.
      const bool postsFirst = plan_.credits > 0;
      if (postsFirst) postNext(action, channels, row);
      for (const PlannedMessage& message : messagesFrom(action)) {
        if (index_.crossesRanks(message)) row.push_back(sendOf(message));
      }
      if (!postsFirst) postNext(action, channels, row);
    }
    return row;
  }

  static bool isRecompute(const Action& action) { return action.kind == JobKind::kRecompute; }

  /// Posts the receives of what an action needs, if they are not posted yet.
  void postFor(const Action& action, Channels& channels, std::vector<Action>& row) const {
    for (const PlannedMessage& message : messagesTo(action)) {
      if (index_.crossesRanks(message)) postUpTo(message, channelOf(message, channels), row);
    }
  }

  /// Posts the receives for which the use of the messages of `action` makes room.
  void postNext(const Action& action, Channels& channels, std::vector<Action>& row) const {
    for (const PlannedMessage& message : messagesTo(action)) {
      if (!index_.crossesRanks(message)) continue;
      Channel& channel = channelOf(message, channels);
      --channel.outstanding;
      postAhead(channel, row);
    }
  }

  Channel& channelOf(const PlannedMessage& message, Channels& channels) const {
    return channels.at(plan_.rankOf(message.from, message.microBatch));
  }

  static void post(Channel& channel, std::vector<Action>& row) {
    row.push_back(receiveOf(channel.messages[channel.posted++]));
    ++channel.outstanding;
  }

  void postAhead(Channel& channel, std::vector<Action>& row) const {
    while (channel.outstanding < ahead_ && channel.posted < channel.messages.size()) {
      post(channel, row);
    }
  }

  /// Posts the receives of all messages sent before `message`, and of `message` itself.
  void postUpTo(const PlannedMessage& message, Channel& channel, std::vector<Action>& row) const {
    // A fused pair sends its activations first.
    const auto turn = [&](const PlannedMessage& sent) {
      return std::pair(index_.makerOf(sent).cell, sent.forward ? 0 : 1);
    };
    while (channel.posted < channel.messages.size() &&
           turn(channel.messages[channel.posted]) <= turn(message)) {
      post(channel, row);
    }
  }

  const Plan& plan_;
  int ahead_;
  PlanIndex index_;
  std::vector<Channels> channels_;  // by receiver
};

}  // namespace

Plan addTransfers(const CheckedPlan& plan, const AddTransfersOptions& options) {
  for (const auto& actions : plan->ranks) {
    for (const Action& action : actions) {
      if (isTransfer(action.kind)) {
        throw Error("the plan " + plan->name + " has sends and receives already, such as " +
                    toText(action) + "; --transfers in-time or torch replaces them");
      }
    }
  }
  if (options.ahead == AddTransfersOptions::kAsCredits) {
    return withTransfers(*plan, std::max(1, plan->credits));
  }
  if (options.ahead < 0) {
    throw Error("receives cannot be posted " + std::to_string(options.ahead) +
                " messages ahead; that is 0 or more");
  }
  return withTransfers(*plan, options.ahead);
}

Plan withTransfers(const Plan& plan, int ahead) { return Pass(plan, ahead).run(); }

int messagesBetweenRanks(const Plan& plan) {
  int messages = 0;
  for (const std::vector<Action>& row : withTransfers(withoutTransfers(plan), 0).ranks) {
    messages += static_cast<int>(std::count_if(
        row.begin(), row.end(), [](const Action& action) { return isSend(action.kind); }));
  }
  return messages;
}

Plan withoutTransfers(Plan plan) {
  for (auto& actions : plan.ranks) {
    std::erase_if(actions, [](const Action& action) { return isTransfer(action.kind); });
  }
  return plan;
}

}  // namespace pipetrace
