#include "schedule/add_transfers.h"

#include <map>
#include <utility>

#include "schedule/check/check.h"
#include "schedule/check/plan_index.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// What one rank gets from one other, in the order in which it is sent.
struct Channel {
  std::vector<PlannedMessage> messages;
  std::size_t posted = 0;
  int outstanding = 0;  // posted and not used yet
};

class Pass {
 public:
  Pass(const Schedule& schedule, const AddTransfersOptions& options)
      : schedule_(schedule), credits_(options.credits), index_(schedule) {
    channels_.resize(schedule.ranks.size());
    for (int rank = 0; rank < schedule.numRanks(); ++rank) {
      for (const Action& action : schedule.ranks[static_cast<std::size_t>(rank)]) {
        for (const PlannedMessage& message : messagesFrom(action)) {
          if (!index_.crossesRanks(message)) continue;
          const int receiver = schedule.rankOf(message.to(), message.microBatch);
          channels_[static_cast<std::size_t>(receiver)][rank].messages.push_back(message);
        }
      }
    }
  }

  Schedule run() {
    Schedule full = schedule_;
    for (std::size_t r = 0; r < full.ranks.size(); ++r) {
      full.ranks[r] = withTransfers(schedule_.ranks[r], channels_[r]);
    }
    return full;
  }

 private:
  using Channels = std::map<int, Channel>;  // by sender

  std::vector<Action> withTransfers(const std::vector<Action>& actions, Channels& channels) const {
    std::vector<Action> row;
    row.reserve(actions.size() * 3);
    for (auto& [sender, channel] : channels) postAhead(channel, row);
    for (const Action& action : actions) {
      for (const PlannedMessage& message : messagesTo(action)) {
        if (index_.crossesRanks(message)) postUpTo(message, channelOf(message, channels), row);
      }
      row.push_back(action);
      for (const PlannedMessage& message : messagesFrom(action)) {
        if (index_.crossesRanks(message)) row.push_back(sendOf(message));
      }
      for (const PlannedMessage& message : messagesTo(action)) {
        if (!index_.crossesRanks(message)) continue;
        Channel& channel = channelOf(message, channels);
        --channel.outstanding;
        postAhead(channel, row);
      }
    }
    return row;
  }

  Channel& channelOf(const PlannedMessage& message, Channels& channels) const {
    return channels.at(schedule_.rankOf(message.from, message.microBatch));
  }

  static void post(Channel& channel, std::vector<Action>& row) {
    row.push_back(receiveOf(channel.messages[channel.posted++]));
    ++channel.outstanding;
  }

  void postAhead(Channel& channel, std::vector<Action>& row) const {
    while (channel.outstanding < credits_ && channel.posted < channel.messages.size()) {
      post(channel, row);
    }
  }

  /// Posts what is sent before `message`, and that itself.
  void postUpTo(const PlannedMessage& message, Channel& channel, std::vector<Action>& row) const {
    // Of a fused pair the activations go first.
    const auto turn = [&](const PlannedMessage& sent) {
      return std::pair(index_.makerOf(sent).cell, sent.forward ? 0 : 1);
    };
    while (channel.posted < channel.messages.size() &&
           turn(channel.messages[channel.posted]) <= turn(message)) {
      post(channel, row);
    }
  }

  const Schedule& schedule_;
  int credits_;
  PlanIndex index_;
  std::vector<Channels> channels_;  // by receiver
};

}  // namespace

Schedule addTransfers(const Schedule& schedule, const AddTransfersOptions& options) {
  requireValid(schedule);
  for (const auto& actions : schedule.ranks) {
    for (const Action& action : actions) {
      if (isTransfer(action.kind)) {
        throw Error("the schedule " + schedule.name + " has sends and receives already, such as " +
                    toText(action));
      }
    }
  }
  if (options.credits < 0) {
    throw Error("receives cannot be posted " + std::to_string(options.credits) +
                " messages ahead; credits are 0 or more");
  }
  return Pass(schedule, options).run();
}

}  // namespace pipetrace
