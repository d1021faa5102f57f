#include "runtime/control/verdict/jury.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "runtime/control/testing/plain_status.h"
#include "runtime/control/verdict/beat.h"

namespace pipetrace {
namespace {

using testing::computing;

// Ranks whose messages and hang-ups take random times, in the order in which they were sent on each
// connection. Time goes in milliseconds.
class Network {
 public:
  Network(int ranks, unsigned seed, int longestDelay, const JuryLimits& limits = {})
      : random_(seed), longestDelay_(longestDelay) {
    for (int rank = 0; rank < ranks; ++rank) {
      juries_.push_back(std::make_unique<Jury>(rank, ranks, limits, words_, 0));
      juries_.back()->own(computing(rank));
      lives_.push_back(true);
      phases_.push_back(0);
    }
  }

  // Ranks that have noticed nothing read and look once a beat (in milliseconds), each at a moment
  // of its own, and when a connection ends.
  void restBetweenBeats(int beat) {
    beat_ = beat;
    rests_ = true;
    for (int& phase : phases_) phase = std::uniform_int_distribution<>(0, beat - 1)(random_);
  }

  Jury& jury(int rank) { return *juries_[static_cast<std::size_t>(rank)]; }
  Nanoseconds now() const { return now_ * kNsPerMs; }

  void die(int rank) {
    lives_[static_cast<std::size_t>(rank)] = false;
    forOthers(rank, [&](int to) { post(rank, to, {.isEnd = true}); });
  }
  void stop(int rank) { lives_[static_cast<std::size_t>(rank)] = false; }
  void run(int milliseconds) {
    for (const int end = now_ + milliseconds; now_ < end; ++now_) round();
  }
  // Until all that live have a verdict; how long that took, -1 for longer than `limit`.
  int awaitVerdicts(int limit) {
    for (int passed = 0; passed < limit; ++passed) {
      if (haveVerdicts()) return passed;
      run(1);
    }
    return -1;
  }
  // The rank that all verdicts name; -1 if they differ.
  int culprit() {
    int rank = -2;
    each([&](int i) {
      const int named = jury(i).verdict() ? jury(i).verdict()->rank : -1;
      rank = rank == -2 || rank == named ? named : -1;
    });
    return rank;
  }
  template <typename Body>
  void each(Body body) {
    for (int rank = 0; rank < size(); ++rank) {
      if (lives_[static_cast<std::size_t>(rank)]) body(rank);
    }
  }

 private:
  struct Delivery {
    bool isEnd = false;
    ControlMessage message;
  };
  int size() const { return static_cast<int>(juries_.size()); }
  template <typename Body>
  void forOthers(int rank, Body body) {
    for (int to = 0; to < size(); ++to) {
      if (to != rank) body(to);
    }
  }
  void post(int from, int to, Delivery delivery) {
    auto& queue = queues_[{from, to}];
    int when = now_ + std::uniform_int_distribution<>(1, longestDelay_)(random_);
    if (!queue.empty()) when = std::max(when, queue.rbegin()->first);
    queue.emplace(when, std::move(delivery));
  }
  void round() {
    std::vector<bool> isAwake;
    for (int rank = 0; rank < size(); ++rank) isAwake.push_back(hasReasonToWake(rank));
    for (auto& [ends, queue] : queues_) {
      if (isAwake[static_cast<std::size_t>(ends.second)]) deliver(ends.first, ends.second, queue);
    }
    each([&](int rank) {
      if (!isAwake[static_cast<std::size_t>(rank)]) return;
      if (isBeat(rank)) {
        ControlMessage beat;
        beat.status = computing(rank);
        forOthers(rank, [&](int to) { post(rank, to, {.message = beat}); });
      }
      jury(rank).tick(now());
      for (const ControlMessage& message : jury(rank).takeMessages()) {
        forOthers(rank, [&](int to) { post(rank, to, {.message = message}); });
      }
    });
  }
  bool isBeat(int rank) const {
    return (now_ + phases_[static_cast<std::size_t>(rank)]) % beat_ == 0;
  }
  bool hasReasonToWake(int rank) {
    if (!rests_ || isBeat(rank) || jury(rank).isAlarmed()) return true;
    return std::any_of(queues_.begin(), queues_.end(), [&](const auto& entry) {
      const auto& [ends, queue] = entry;
      return ends.second == rank && std::any_of(queue.begin(), queue.end(), [&](const auto& one) {
               return one.first <= now_ && one.second.isEnd;
             });
    });
  }
  void deliver(int from, int to, std::multimap<int, Delivery>& queue) {
    while (!queue.empty() && queue.begin()->first <= now_) {
      const Delivery delivery = queue.begin()->second;
      queue.erase(queue.begin());
      if (!lives_[static_cast<std::size_t>(to)]) continue;
      if (delivery.isEnd) {
        jury(to).closed(from, now());
      } else {
        jury(to).heard(from, delivery.message, now());
      }
    }
  }
  bool haveVerdicts() {
    bool all = true;
    each([&](int rank) { all = all && jury(rank).verdict().has_value(); });
    return all;
  }

  PlanWords words_;
  std::mt19937 random_;
  const int longestDelay_;
  int now_ = 0;
  int beat_ = 100;
  bool rests_ = false;
  std::vector<int> phases_;
  std::vector<std::unique_ptr<Jury>> juries_;
  std::vector<bool> lives_;
  std::map<std::pair<int, int>, std::multimap<int, Delivery>> queues_;
};

TEST(Jury, AllNameTheRankThatDiedWithItsLastAction) {
  for (int dead = 0; dead < 5; ++dead) {
    Network network(5, 1, 20);
    network.run(300);
    network.die(dead);
    const int took = network.awaitVerdicts(1000);
    EXPECT_GE(took, 0);
    EXPECT_LT(took, 100);
    EXPECT_EQ(network.culprit(), dead);
    network.each([&](int rank) {
      EXPECT_EQ(network.jury(rank).verdict()->kind, CauseKind::kDied);
      EXPECT_EQ(network.jury(rank).verdict()->status.action, dead);
    });
  }
}

TEST(Jury, AllAgreeOnOneOfTwoRanksThatDieTogether) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Network network(6, seed, 40);
    network.run(200);
    network.die(static_cast<int>(seed % 6));
    network.die(static_cast<int>((seed + 1 + seed / 6 % 5) % 6));
    ASSERT_GE(network.awaitVerdicts(1000), 0) << seed;
    ASSERT_GE(network.culprit(), 0) << "different names, seed " << seed;
  }
}

TEST(Jury, AllAgreeOnOneOfTwoRanksThatFailTogetherHoweverLongTheBeat) {
  for (const int beat : {100, 1000}) {
    for (unsigned seed = 0; seed < 120; ++seed) {
      Network network(6, seed, 20, limitsAt(beat * kNsPerMs, {}));
      network.restBetweenBeats(beat);
      network.run(beat);
      network.jury(4).failed("out of memory", network.now());
      network.run(static_cast<int>(seed % 5));
      network.jury(2).failed("bad loss", network.now());
      ASSERT_GE(network.awaitVerdicts(5000), 0) << beat << " ms, seed " << seed;
      ASSERT_GE(network.culprit(), 0) << "different names at " << beat << " ms, seed " << seed;
    }
  }
}

TEST(Jury, ARankThatDiesLongAfterAnotherIsNotTheFirstCause) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Network network(6, seed, 20);
    network.run(200);
    network.die(4);
    network.run(45);
    network.die(1);
    ASSERT_GE(network.awaitVerdicts(1500), 0) << seed;
    ASSERT_EQ(network.culprit(), 4) << seed;
  }
}

TEST(Jury, ARankThatSaidWhatHappenedMayHangUp) {
  Network network(4, 3, 30);
  network.run(200);
  network.jury(2).failed("out of memory", network.now());
  network.run(1);
  network.die(2);
  ASSERT_GE(network.awaitVerdicts(1000), 0);
  EXPECT_EQ(network.culprit(), 2);
  EXPECT_EQ(network.jury(0).verdict()->kind, CauseKind::kFailed);
  EXPECT_EQ(network.jury(3).verdict()->reason, "out of memory");
}

TEST(Jury, ALostConnectionFollowsFromADeathThatIsNoticedLater) {
  Network network(4, 3, 30);
  network.run(200);
  network.jury(1).lostPeer("the socket broke", network.now());
  network.run(1000);
  network.die(3);
  ASSERT_GE(network.awaitVerdicts(1000), 0);
  EXPECT_EQ(network.culprit(), 3);
}

TEST(Jury, ALostConnectionBetweenRanksThatLiveIsTheCauseInTheEnd) {
  Network network(4, 3, 30);
  network.run(200);
  network.jury(1).lostPeer("the socket broke", network.now());
  const int took = network.awaitVerdicts(4000);
  EXPECT_GE(took, 1400);
  EXPECT_LT(took, 2000);
  EXPECT_EQ(network.culprit(), 1);
  EXPECT_EQ(network.jury(0).verdict()->reason, "the socket broke");
}

TEST(Jury, ARankThatIsStoppedEndsTheRunForAll) {
  Network network(4, 3, 30);
  network.run(200);
  network.jury(2).stopped("stopped by SIGTERM", network.now());
  const int took = network.awaitVerdicts(1000);
  EXPECT_GE(took, 0);
  EXPECT_LT(took, 100);
  EXPECT_EQ(network.culprit(), 2);
  EXPECT_EQ(network.jury(0).verdict()->kind, CauseKind::kStopped);
}

TEST(Jury, ARunWhoseRanksAreAllStoppedEndsAtOnce) {
  Network network(4, 3, 30);
  network.run(200);
  network.each([&](int rank) { network.jury(rank).stopped("stopped by SIGINT", network.now()); });
  const int took = network.awaitVerdicts(1000);
  EXPECT_GE(took, 0);
  EXPECT_LT(took, 100);
}

TEST(Jury, ADeathIsTheCauseAlthoughALauncherStopsTheOthersBeforeTheyNoticeIt) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Network network(6, seed, 30);
    network.run(200);
    const int dead = static_cast<int>(seed % 6);
    network.die(dead);
    network.each([&](int rank) {
      if (seed % 3 != 2 || rank % 2 == 0) {
        network.jury(rank).stopped("stopped by SIGTERM", network.now());
      }
    });
    ASSERT_GE(network.awaitVerdicts(1000), 0) << seed;
    ASSERT_EQ(network.culprit(), dead) << seed;
    network.each(
        [&](int rank) { ASSERT_EQ(network.jury(rank).verdict()->kind, CauseKind::kDied) << seed; });
  }
}

TEST(Jury, AHostThatVanishesIsNoticedWithin10Seconds) {
  for (int silent = 0; silent < 4; ++silent) {
    Network network(4, 3, 30);
    network.run(500);
    network.stop(silent);
    const int took = network.awaitVerdicts(20'000);
    EXPECT_GE(took, 7'500);
    EXPECT_LT(took, 10'000);
    EXPECT_EQ(network.culprit(), silent);
    EXPECT_EQ(network.jury((silent + 1) % 4).verdict()->kind, CauseKind::kSilent);
  }
}

TEST(Jury, OnceAllHaveFinishedRanksMayHangUp) {
  Network network(4, 3, 30);
  network.run(200);
  for (int rank = 0; rank < 4; ++rank) network.jury(rank).finish();
  network.run(100);
  network.each([&](int rank) { EXPECT_TRUE(network.jury(rank).isFinished()); });
  network.die(0);
  network.run(100);
  network.each([&](int rank) { EXPECT_FALSE(network.jury(rank).isAlarmed()); });
}

TEST(Jury, ARankThatDiesWhileOthersWaitForItAtTheEndIsNamed) {
  Network network(4, 3, 30);
  network.run(200);
  for (const int rank : {0, 1, 3}) network.jury(rank).finish();
  network.run(500);
  network.die(2);
  ASSERT_GE(network.awaitVerdicts(1000), 0);
  EXPECT_EQ(network.culprit(), 2);
}

TEST(Jury, TheNextRankDecidesWhenTheOneThatShouldDiesMeanwhile) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Network network(5, seed, 40);
    network.run(200);
    network.die(3);
    network.run(static_cast<int>(seed % 50));
    network.die(0);
    ASSERT_GE(network.awaitVerdicts(2000), 0) << seed;
    ASSERT_GE(network.culprit(), 0) << "different names, seed " << seed;
  }
}

}  // namespace
}  // namespace pipetrace
