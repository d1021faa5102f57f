#include "analysis/run/clocks/alignment.h"

#include <gmock/gmock.h>

#include "analysis/testing/diagnostic_texts.h"
#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AlignClocksTest : public testing::Test {
 protected:
  /// Rank 1's clock is 100 ns behind at 1000, 110 ns at 2000.
  AlignClocksTest() {
    for (const int rank : {0, 1}) {
      made_.add(rank, JobKind::kForward, 1000, 1500);
      made_.add(rank, JobKind::kBackward, 1500, 2500);
    }
    readings(1) = {{1000, 100, 7}, {2000, 110, 9}};
    made_.timeline.counters = {{1, "loss", "", {{1500, 0.5}}}};
  }

  std::vector<ClockReading>& readings(int rank) { return made_.timeline.ranks[rank].clockReadings; }

  Timeline aligned() { return alignedByLog(made_.timeline, diagnostics_); }

  static std::vector<Nanoseconds> times(const Timeline& timeline, int rank) {
    std::vector<Nanoseconds> list;
    for (const Event& event : timeline.findTrack(rank, kComputeLane)->events) {
      list.push_back(event.begin);
      list.push_back(event.end);
    }
    return list;
  }

  std::vector<std::string> reported() const { return textsOf(diagnostics_); }

  HandMadeTimeline made_;
  Diagnostics diagnostics_;
};

TEST_F(AlignClocksTest, TimesOfEveryRankAreInRankZerosClock) {
  const Timeline timeline = aligned();
  EXPECT_THAT(times(timeline, 0), ElementsAre(1000, 1500, 1500, 2500));
  EXPECT_THAT(times(timeline, 1), ElementsAre(1100, 1605, 1605, 2610));
  EXPECT_EQ(timeline.counters[0].samples[0].time, 1605);
  EXPECT_THAT(reported(),
              ElementsAre("note: times of rank 1 were moved into rank 0's clock, by up to "
                          "110 ns; by the logs they are exact to within 9 ns"));
}

TEST_F(AlignClocksTest, RanksOfAHostShareTheMostExactOfTheirClocks) {
  made_.add(2, JobKind::kForward, 1000, 1500);
  made_.add(2, JobKind::kBackward, 1500, 2500);
  readings(2) = {{1000, 109, 3}, {2000, 109, 3}};
  made_.timeline.ranks[1].host = made_.timeline.ranks[2].host = "b";
  const Timeline timeline = aligned();
  EXPECT_THAT(times(timeline, 1), ElementsAre(1109, 1609, 1609, 2609));
  EXPECT_THAT(times(timeline, 2), ElementsAre(1109, 1609, 1609, 2609));
  EXPECT_THAT(reported(),
              ElementsAre("note: times of ranks 1 and 2 were moved into rank 0's clock, by up to "
                          "109 ns; by the logs they are exact to within 3 ns"));
}

TEST_F(AlignClocksTest, ARankWhoseReadingsDoNotAgreeWithItsHostKeepsItsClock) {
  made_.add(2, JobKind::kForward, 1000, 1500);
  made_.add(2, JobKind::kBackward, 1500, 2500);
  readings(2) = {{1000, 140, 3}, {2000, 140, 3}};
  made_.timeline.ranks[1].host = made_.timeline.ranks[2].host = "b";
  const Timeline timeline = aligned();
  EXPECT_THAT(times(timeline, 1), ElementsAre(1100, 1605, 1605, 2610));
  EXPECT_THAT(times(timeline, 2), ElementsAre(1140, 1640, 1640, 2640));
}

TEST_F(AlignClocksTest, RanksOfRankZerosHostHaveItsClock) {
  readings(1) = {{1000, 5, 7}, {2000, -4, 7}};
  made_.timeline.ranks[0].host = made_.timeline.ranks[1].host = "a";
  const Timeline timeline = aligned();
  EXPECT_THAT(times(timeline, 1), ElementsAre(1000, 1500, 1500, 2500));
  made_.timeline.ranks[1].host = "b";
  EXPECT_THAT(times(aligned(), 1), ElementsAre(1005, 1500, 1500, 2496));
}

TEST_F(AlignClocksTest, BeginsOfPartsMoveWithTheirRank) {
  made_.timeline.ranks[0].partBegins = {1000, 2000};
  made_.timeline.ranks[1].partBegins = {1000, 1500, 2000};
  const Timeline timeline = aligned();
  EXPECT_THAT(timeline.ranks.at(0).partBegins, ElementsAre(1000, 2000));
  EXPECT_THAT(timeline.ranks.at(1).partBegins, ElementsAre(1100, 1605, 2110));
}

TEST_F(AlignClocksTest, AligningTwiceEqualsAligningOnce) {
  const Timeline once = aligned();
  Diagnostics again;
  const Timeline twice = alignedByLog(once, again);
  EXPECT_EQ(times(twice, 1), times(once, 1));
  EXPECT_TRUE(again.empty());
  const std::vector<ClockReading>& left = once.ranks.at(1).clockReadings;
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].when, 1100);
  EXPECT_EQ(left[1].when, 2110);
  for (const ClockReading& reading : left) EXPECT_EQ(reading.offset, 0);
  EXPECT_EQ(left[1].bound, 9);
}

TEST_F(AlignClocksTest, ARankWithoutReadingsBesideOthersIsReported) {
  made_.add(2, JobKind::kForward, 1000, 1500);
  const Timeline timeline = aligned();
  EXPECT_THAT(times(timeline, 2), ElementsAre(1000, 1500));
  EXPECT_THAT(reported()[0], AllOf(HasSubstr("warning: unlike others, rank 2 has no comparisons"),
                                   HasSubstr("--align none")));
}

TEST_F(AlignClocksTest, LogsWithoutReadingsStayAsTheyAreWithoutAWarning) {
  readings(1).clear();
  EXPECT_THAT(times(aligned(), 1), ElementsAre(1000, 1500, 1500, 2500));
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(AlignClocksTest, AnOffsetOfRankZeroFromItselfIsReportedAndNotUsed) {
  readings(0) = {{1000, 0, 1}, {2000, 40, 1}};
  const Timeline timeline = aligned();
  EXPECT_THAT(times(timeline, 0), ElementsAre(1000, 1500, 1500, 2500));
  EXPECT_THAT(times(timeline, 1), ElementsAre(1100, 1605, 1605, 2610));
  EXPECT_THAT(reported()[0], HasSubstr("warning: the log of rank 0 gives an offset"));
  readings(0) = {{1000, 0, 1}, {2000, 0, 1}};
  diagnostics_ = {};
  aligned();
  EXPECT_EQ(reported().size(), 1U);  // the note about rank 1
}

TEST_F(AlignClocksTest, EventsThatThenBeginAtTheSameTimeAreInOrder) {
  Timeline& timeline = made_.timeline;
  timeline.track(1, kComputeLane).events.clear();
  readings(1) = {{1000, 0, 1}, {2000, -900, 1}};  // ten of its ns are one of rank 0's
  made_.add(1, JobKind::kForward, 1501, 1900);
  made_.add(1, JobKind::kForward, 1502, 1503);
  const Timeline moved = aligned();
  EXPECT_THAT(times(moved, 1), ElementsAre(1050, 1050, 1050, 1090));
}

TEST_F(AlignClocksTest, ContradictingReadingsAreReported) {
  readings(1) = {{1000, 500, 9}, {1400, 0, 5}};
  EXPECT_THAT(times(aligned(), 1), ElementsAre(1000, 1500, 1500, 2500));
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("warning: comparisons of rank 1's clock")));
}

TEST_F(AlignClocksTest, OffsetsThatTearTheRunApartAreReportedAndNotUsed) {
  readings(1) = {{1000, kNsMax / 2, 9}};
  made_.add(2, JobKind::kForward, 1000, 1500);
  readings(2) = {{1000, -kNsMax / 2 - 1000, 9}};
  made_.add(3, JobKind::kForward, kNsMin / 2, kNsMin / 2 + 1);
  readings(3) = {{0, -kNsMax / 2, 9}};
  const Timeline timeline = aligned();
  EXPECT_THAT(times(timeline, 1), ElementsAre(1000, 1500, 1500, 2500));
  EXPECT_THAT(reported().back(), AllOf(HasSubstr("292 years"), HasSubstr("--align none")));
}

}  // namespace
}  // namespace pipetrace
