#include "trace/sub_lanes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Event> events(std::initializer_list<std::pair<Nanoseconds, Nanoseconds>> spans) {
  std::vector<Event> list;
  for (const auto& [begin, end] : spans) {
    Event& e = list.emplace_back();
    e.begin = begin;
    e.end = end;
  }
  return list;
}

TEST(SubLanesTest, NoEventsNeedNoLane) {
  EXPECT_THAT(packSubLanes({}), IsEmpty());
  EXPECT_EQ(subLaneCount({}), 0U);
}

TEST(SubLanesTest, TouchingEventsShareALane) {
  EXPECT_THAT(packSubLanes(events({{0, 10}, {10, 20}, {20, 20}, {20, 30}})),
              ElementsAre(0, 0, 0, 0));
}

TEST(SubLanesTest, OverlappingEventsGetTheLowestFreeLane) {
  EXPECT_THAT(packSubLanes(events({{0, 10}, {5, 15}, {10, 12}, {11, 20}, {15, 16}})),
              ElementsAre(0, 1, 0, 2, 0));
}

TEST(SubLanesTest, NestedEventsAreSpreadToo) {
  EXPECT_THAT(packSubLanes(events({{0, 100}, {10, 20}, {30, 40}})), ElementsAre(0, 1, 1));
}

TEST(SubLanesTest, RandomEventsUseAsFewLanesAsTheirDeepestOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Event> list(1 + random() % 60);
    for (Event& e : list) {
      e.begin = static_cast<Nanoseconds>(random() % 100);
      e.end = e.begin + static_cast<Nanoseconds>(random() % 20);
    }
    std::sort(list.begin(), list.end(), startsBefore);
    const auto lanes = packSubLanes(list);
    std::size_t deepest = 1;
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::size_t depth = 1;  // events that share the instant list[i].begin with it
      for (std::size_t j = 0; j < i; ++j) {
        if (list[j].end <= list[i].begin) continue;
        ++depth;
        EXPECT_NE(lanes[i], lanes[j]);
      }
      deepest = std::max(deepest, depth);
    }
    EXPECT_LE(subLaneCount(lanes), deepest);
  }
}

}  // namespace
}  // namespace pipetrace
