#include "chart/search/bubble_by_length.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace pipetrace {
namespace {

/// Two ranks with bubbles of 5, 9 and 9 ms, and of 7, 5 and 9 ms, each in a slot of 10 ms.
Timeline run() {
  Timeline timeline;
  const std::vector<std::vector<Nanoseconds>> lengths = {{5, 9, 9}, {7, 5, 9}};
  for (int rank = 0; rank < 2; ++rank) {
    timeline.ranks[rank] = {};
    Nanoseconds slot = 0;
    for (const Nanoseconds length : lengths[static_cast<std::size_t>(rank)]) {
      Event& bubble = timeline.track(rank, kBubbleLane).events.emplace_back();
      bubble.kind = JobKind::kBubble;
      bubble.begin = slot;
      bubble.end = slot + length * kNsPerMs;
      Event& job = timeline.track(rank, kComputeLane).events.emplace_back();
      job.kind = JobKind::kForward;
      job.begin = bubble.end;
      slot += 10 * kNsPerMs;
      job.end = slot;
    }
  }
  timeline.sort();
  return timeline;
}

struct Place {
  int rank = 0;
  Nanoseconds slot = 0;
  bool operator==(const Place&) const = default;
};

class BubbleByLengthTest : public testing::Test {
 protected:
  /// All bubbles, from one to the next.
  std::vector<Place> walk(LengthOrder order, const std::optional<ChartArea>& area = std::nullopt) {
    std::vector<Place> places;
    const Event* from = nullptr;
    while (const auto hit = bubbleByLength(model_, area, from, order)) {
      from = hit->event;
      places.push_back({model_.rows()[hit->row].rank, from->begin / kNsPerMs / 10});
      if (places.size() > 10) break;
    }
    return places;
  }

  Timeline timeline_ = run();
  ChartModel model_{timeline_};
};

TEST_F(BubbleByLengthTest, FromTheLongestOnEveryBubbleComesOnce) {
  const std::vector<Place> expected = {{0, 1}, {0, 2}, {1, 2}, {1, 0}, {0, 0}, {1, 1}};
  EXPECT_EQ(walk(LengthOrder::kShorter), expected);
}

TEST_F(BubbleByLengthTest, FromTheShortestOnTheWayIsTheReverse) {
  std::vector<Place> expected = walk(LengthOrder::kShorter);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(walk(LengthOrder::kLonger), expected);
}

TEST_F(BubbleByLengthTest, InAnAreaOnlyItsBubblesCountButWithTheirWholeLength) {
  std::size_t row = 0;
  while (model_.rows()[row].rank != 1 || model_.rows()[row].bubbles.empty()) ++row;
  const ChartArea area{{6 * kNsPerMs, 21 * kNsPerMs}, {row}};
  const std::vector<Place> expected = {{1, 2}, {1, 0}, {1, 1}};
  EXPECT_EQ(walk(LengthOrder::kShorter, area), expected);
  const ChartArea later{{7 * kNsPerMs, 20 * kNsPerMs}, {row}};
  EXPECT_EQ(walk(LengthOrder::kShorter, later), (std::vector<Place>{{1, 1}}));
}

TEST_F(BubbleByLengthTest, BubblesOfTheScheduleCountOnlyWhereThereAreNoOthers) {
  for (Event& bubble : timeline_.track(0, kBubbleLane).events) {
    bubble.bubbleClass = BubbleClass::kWarmUp;
  }
  const std::vector<Place> others = {{1, 2}, {1, 0}, {1, 1}};
  EXPECT_EQ(walk(LengthOrder::kShorter), others);
  for (Event& bubble : timeline_.track(1, kBubbleLane).events) {
    bubble.bubbleClass = BubbleClass::kDrain;
  }
  EXPECT_EQ(walk(LengthOrder::kShorter).size(), 6U);
}

TEST_F(BubbleByLengthTest, AJobIsNoStart) {
  const Event& job = timeline_.findTrack(0, kComputeLane)->events.front();
  const auto hit = bubbleByLength(model_, std::nullopt, &job, LengthOrder::kShorter);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->event->duration(), 9 * kNsPerMs);
}

}  // namespace
}  // namespace pipetrace
