// Which lengths of runs are refused.
#include "trace/checked_span.h"

#include <gmock/gmock.h>

#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Nanoseconds kDay = 86'400 * kNsPerSecond;

/// A run in which each rank has one event.
Timeline runOf(int ranks, Nanoseconds begin, Nanoseconds end) {
  Timeline timeline;
  Event event;
  event.begin = begin;
  event.end = end;
  for (int rank = 0; rank < ranks; ++rank) {
    timeline.track(rank, kComputeLane).events.push_back(event);
  }
  return timeline;
}

TEST(CheckedSpan, AYearIsTheLongestRun) {
  EXPECT_EQ(checkedSpan(runOf(2, 5 * kDay, 371 * kDay)).end, 371 * kDay);
  EXPECT_THAT([] { checkedSpan(runOf(2, 5 * kDay, 371 * kDay + 1)); },
              ThrowsMessage<Error>(HasSubstr("more than a year apart")));
}

TEST(CheckedSpan, TheRefusalNamesTheRanksAtBothEnds) {
  Timeline timeline = runOf(3, 0, 5);
  EXPECT_NO_THROW(checkedSpan(timeline));
  Event late;
  late.begin = 400 * kDay;
  late.end = 400 * kDay + 1;
  timeline.track(1, kComputeLane).events.push_back(late);
  timeline.track(0, kComputeLane).events[0].begin = 1;
  timeline.track(1, kComputeLane).events[0].begin = 1;
  EXPECT_THAT([&] { checkedSpan(timeline); },
              ThrowsMessage<Error>(HasSubstr("(at 0 s and 34560000 s, of ranks 2 and 1)")));
}

TEST(CheckedSpan, TimesNearTheEndsOfTheirRangeAreRefused) {
  EXPECT_THAT([] { checkedSpan(runOf(1, kNsMax - 5, kNsMax)); },
              ThrowsMessage<Error>(HasSubstr("(9223372036 s) is more than 146 years")));
  EXPECT_THAT([] { checkedSpan(runOf(1, kNsMin, kNsMin + 5)); },
              ThrowsMessage<Error>(HasSubstr("(-9223372036 s) is more than 146 years")));
  EXPECT_EQ(checkedSpan(runOf(1, -5, -3)).begin, -5);
}

TEST(CheckedSpan, TenThousandRanksMayLastTwoDays) {
  EXPECT_NO_THROW(checkedSpan(runOf(10'000, 0, 2 * kDay)));
  EXPECT_THAT([] { checkedSpan(runOf(10'000, 0, 3 * kDay)); },
              ThrowsMessage<Error>(HasSubstr("10000 ranks lie up to 3 days apart")));
}

TEST(CheckedSpan, ARunWithoutEventsHasNoLength) { EXPECT_EQ(checkedSpan({}).end, 0); }

}  // namespace
}  // namespace pipetrace
