#pragma once

#include <vector>

#include "schedule/check/plan_index.h"

namespace pipetrace {

/// The forward messages of each channel of a plan with credits, and the actions that acknowledge
/// them (Plan::credits).
class CreditChannels {
 public:
  using Position = PlanIndex::Position;

  /// A channel: both lists are as long.
  struct Channel {
    int sender = 0;
    int receiver = 0;
    std::vector<Position> makers;  ///< of its messages, in the order in which they are sent
    std::vector<Position> users;   ///< in the order in which the receiver does them
  };
  /// A message's channel, and its number there.
  struct Place {
    int channel = -1;
    int number = 0;
    bool exists() const { return channel >= 0; }
  };

  CreditChannels() = default;
  /// `plan` and its `index` have no problems. Without credits there is no channel.
  CreditChannels(const Plan& plan, const PlanIndex& index);

  const std::vector<Channel>& channels() const { return channels_; }
  /// The place of the forward message that an action makes; none where it makes none for another
  /// rank.
  Place placeOf(Position maker) const {
    if (places_.empty()) return {};
    return places_[static_cast<std::size_t>(maker.rank)][static_cast<std::size_t>(maker.cell)];
  }

 private:
  std::vector<Channel> channels_;
  std::vector<std::vector<Place>> places_;  // by rank and cell
};

}  // namespace pipetrace
