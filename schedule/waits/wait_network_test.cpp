#include "schedule/waits/wait_network.h"

#include <gmock/gmock.h>

#include <vector>

#include "schedule/waits/wait_times.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using Index = WaitNetwork::Index;
constexpr Index kNone = WaitNetwork::kNone;

/// The end of each operation, where operation i takes durations[i], and lag n takes 10 n.
std::vector<Nanoseconds> endsOf(const WaitNetwork& network, std::vector<Nanoseconds> durations,
                                std::vector<std::pair<Index, Nanoseconds>> given = {}) {
  WaitTimes<Nanoseconds> times(network);
  for (const auto& [operation, end] : given) times.give(operation, end);
  times.run([&](Index i) { return durations[i]; },
            [](const WaitNetwork::Wait& wait) { return Nanoseconds{10} * wait.lag; },
            [](Index) { return Nanoseconds{0}; }, [](Index) { return Nanoseconds{0}; });
  std::vector<Nanoseconds> ends;
  for (Index i = 0; i < network.size(); ++i) ends.push_back(times.end(i));
  return ends;
}

TEST(WaitNetwork, AnOperationBeginsWhenTheLastThatItWaitsForIsOver) {
  WaitNetwork network;
  network.add(4);
  network.wait(1, {0});
  network.wait(2, {0, 3});  // 30 later
  network.wait(3, {1});
  network.wait(3, {2});
  EXPECT_TRUE(network.order());
  EXPECT_THAT(endsOf(network, {5, 100, 7, 1}), ElementsAre(5, 105, 5 + 30 + 7, 106));
  EXPECT_THAT(endsOf(network, {5, 1, 7, 1}), ElementsAre(5, 6, 42, 43));
}

TEST(WaitNetwork, WaitsMayBeAddedInAnyOrder) {
  WaitNetwork network;
  network.add(4);
  network.wait(1, {0});
  network.wait(3, {2});
  network.waitToo(3, {1, 4});
  network.waitToo(0, {2});
  network.waitToo(3, {0});
  EXPECT_TRUE(network.order());
  EXPECT_THAT(endsOf(network, {1, 2, 4, 8}), ElementsAre(5, 7, 4, 7 + 40 + 8));
  std::vector<Index> sources;
  for (const WaitNetwork::Wait& wait : network.waits(3)) sources.push_back(wait.source);
  EXPECT_THAT(sources, ElementsAre(2, 1, 0));
  EXPECT_EQ(network.waits(0).size(), 1U);
  EXPECT_EQ(network.waits(2).size(), 0U);
}

TEST(WaitNetwork, OperationsOfAGroupBeginTogether) {
  WaitNetwork network;
  network.add(4);
  network.wait(2, {0});
  network.wait(3, {1});
  network.beginTogether(3, 2);
  EXPECT_TRUE(network.order());
  EXPECT_THAT(endsOf(network, {5, 9, 1, 2}), ElementsAre(5, 9, 10, 11));
  EXPECT_THAT(network.groupOf(2), ElementsAre(2, 3));
  EXPECT_EQ(network.groups().size(), 3U);
}

TEST(WaitNetwork, GivenOperationsEndAsTheyAreToldAndHoldUpNoOrder) {
  WaitNetwork network;
  const Index given = network.addGiven();
  const Index own = network.add();
  network.wait(own, {given});
  EXPECT_TRUE(network.order());
  EXPECT_TRUE(network.isGiven(given));
  EXPECT_THAT(endsOf(network, {0, 3}, {{given, 40}}), ElementsAre(40, 43));
}

TEST(WaitNetwork, WhatWaitsForEachOtherCannotRunAndNeitherCanWhatFollows) {
  WaitNetwork network;
  network.add(4);
  network.wait(0, {1});
  network.wait(1, {0});
  network.wait(2, {1});
  EXPECT_FALSE(network.order());
  EXPECT_FALSE(network.canRun(0));
  EXPECT_FALSE(network.canRun(2));
  EXPECT_TRUE(network.canRun(3));
}

TEST(WaitNetwork, OfOperationsThatWaitForEachOtherTheOneThatBeganFirstGoesOn) {
  const std::vector<Nanoseconds> begins{7, 3, 9};
  WaitNetwork network;
  network.add(3);
  network.wait(0, {1});
  network.wait(1, {2, 5});
  network.wait(2, {0});
  network.orderBy([&](Index i) { return begins[i]; });
  EXPECT_EQ(network.waits(1)[0].source, kNone);
  EXPECT_EQ(network.waits(1)[0].lag, 5U);  // from time 0 on
  EXPECT_THAT(endsOf(network, {1, 2, 4}), ElementsAre(53, 52, 57));
}

}  // namespace
}  // namespace pipetrace
