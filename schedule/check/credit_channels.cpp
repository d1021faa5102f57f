#include "schedule/check/credit_channels.h"

#include <map>
#include <utility>

namespace pipetrace {
namespace {

using Position = PlanIndex::Position;

/// Makes channels as they are asked for.
class ChannelList {
 public:
  explicit ChannelList(std::vector<CreditChannels::Channel>& list) : list_(list) {}

  int numberOf(int sender, int receiver) {
    const auto [found, isNew] =
        numbers_.try_emplace({sender, receiver}, static_cast<int>(list_.size()));
    if (isNew) list_.push_back({.sender = sender, .receiver = receiver});
    return found->second;
  }
  CreditChannels::Channel& at(int number) { return list_[static_cast<std::size_t>(number)]; }

 private:
  std::vector<CreditChannels::Channel>& list_;
  std::map<std::pair<int, int>, int> numbers_;
};

/// The forward message that an action makes, or that a send of it moves; its micro-batch is
/// negative where there is none.
PlannedMessage forwardMessageOf(const Action& action, bool ofSends) {
  constexpr PlannedMessage kNone{.microBatch = -1};
  if (ofSends) return action.kind == JobKind::kSendForward ? messageOf(action) : kNone;
  const PlannedMessages made = isTransfer(action.kind) ? PlannedMessages{} : messagesFrom(action);
  return made.count > 0 && made.list[0].forward ? made.list[0] : kNone;
}

}  // namespace

CreditChannels::CreditChannels(const Plan& plan, const PlanIndex& index) {
  if (plan.credits <= 0) return;
  ChannelList channels(channels_);
  for (const auto& actions : plan.ranks) places_.emplace_back(actions.size());
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const PlannedMessage sent = forwardMessageOf(actions[i], index.hasTransfers());
      if (sent.microBatch >= 0 && index.crossesRanks(sent)) {
        const Position maker = index.makerOf(sent);
        const int channel = channels.numberOf(rank, index.userOf(sent).rank);
        auto& makers = channels.at(channel).makers;
        places_[static_cast<std::size_t>(maker.rank)][static_cast<std::size_t>(maker.cell)] = {
            channel, static_cast<int>(makers.size())};
        makers.push_back(maker);
      }
      const PlannedMessages needed =
          isTransfer(actions[i].kind) ? PlannedMessages{} : messagesTo(actions[i]);
      for (const PlannedMessage& message : needed) {
        if (!message.forward || !index.crossesRanks(message)) continue;
        const int channel = channels.numberOf(index.makerOf(message).rank, rank);
        channels.at(channel).users.push_back({rank, static_cast<int>(i)});
      }
    }
  }
}

}  // namespace pipetrace
