#include "runtime/control/control_relay.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <memory>

namespace pipetrace {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// Ranks of a tree whose messages arrive in the order in which they were sent. Those of a rank that
/// is gone are lost.
class RelayNetwork {
 public:
  explicit RelayNetwork(int ranks) : heard_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      relays_.push_back(std::make_unique<ControlRelay>(
          rank, linksOf(rank, ranks, 1), [this, rank](int to, const ControlMessage& message) {
            ++sent_;
            onTheirWay_.push_back({rank, to, message});
          }));
    }
  }
  ControlRelay& relay(int rank) { return *relays_[static_cast<std::size_t>(rank)]; }
  void remove(int rank) { gone_ = rank; }
  void deliver() {
    for (; !onTheirWay_.empty(); onTheirWay_.pop_front()) {
      const Sent one = onTheirWay_.front();
      if (one.from == gone_ || one.to == gone_) continue;
      const int origin = relay(one.to).passOn(one.from, one.message);
      if (origin >= 0) heard_[static_cast<std::size_t>(one.to)].push_back(origin);
    }
  }
  /// Whose words the rank has heard.
  const std::vector<int>& heardAt(int rank) const { return heard_[static_cast<std::size_t>(rank)]; }
  int sent() const { return sent_; }

 private:
  struct Sent {
    int from;
    int to;
    ControlMessage message;
  };
  std::vector<std::unique_ptr<ControlRelay>> relays_;
  std::deque<Sent> onTheirWay_;
  std::vector<std::vector<int>> heard_;
  int gone_ = -1;
  int sent_ = 0;
};

ControlMessage noticed(int culprit) {
  ControlMessage message;
  message.word = ControlWord::kNoticed;
  message.cause.rank = culprit;
  return message;
}

TEST(ControlRelay, AWordThatEndsTheRunReachesEveryRankOnceAlsoWithoutAnInnerRank) {
  for (const int gone : {-1, 0, 3, 20}) {
    RelayNetwork network(300);
    network.remove(gone);
    network.relay(299).tell(noticed(3));
    network.deliver();
    for (int rank = 0; rank < 299; ++rank) {
      if (rank == gone) continue;
      EXPECT_THAT(network.heardAt(rank), ElementsAre(299)) << rank << " without " << gone;
    }
  }
}

TEST(ControlRelay, ACauseThatManyNoticeIsPassedOnOnce) {
  RelayNetwork network(300);
  for (int rank = 100; rank < 150; ++rank) network.relay(rank).tell(noticed(5));
  network.deliver();
  const int once = network.sent();
  network.relay(200).tell(noticed(5));
  network.deliver();
  EXPECT_EQ(network.sent(), once);
  network.relay(200).tell(noticed(6));
  network.deliver();
  EXPECT_GT(network.sent(), once) << "another cause";
}

TEST(ControlRelay, StatusesGoUpALevelWithEachBeatAndReachRankZero) {
  RelayNetwork network(300);
  for (int beat = 0; beat < 3; ++beat) {
    for (int rank = 299; rank >= 0; --rank) network.relay(rank).beat({});
    network.deliver();
  }
  std::vector<int> heard = network.heardAt(0);
  std::sort(heard.begin(), heard.end());
  heard.erase(std::unique(heard.begin(), heard.end()), heard.end());
  EXPECT_EQ(heard.size(), 299U);
  EXPECT_THAT(network.heardAt(299), Each(::testing::AnyOf(18, 146))) << "only its parents' own";
}

TEST(ControlRelay, ThatARankHasFinishedGoesUpAtOnceAndNowhereElse) {
  RelayNetwork network(300);
  ControlMessage finished;
  finished.word = ControlWord::kFinished;
  network.relay(299).tell(finished);
  network.deliver();
  EXPECT_THAT(network.heardAt(18), ElementsAre(299));
  EXPECT_THAT(network.heardAt(1), ElementsAre(299));
  EXPECT_THAT(network.heardAt(0), ElementsAre(299));
  EXPECT_EQ(network.sent(), 3);
}

}  // namespace
}  // namespace pipetrace
