#include "parser/profile/slice_matcher.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Matched {
  std::vector<std::string> slices;  // "<begin>-<end>", by index
  std::vector<std::uint32_t> loneEnds;
  std::vector<std::uint32_t> open;
};

SliceEdge begin(Nanoseconds time) { return {.time = time, .isBegin = true}; }
SliceEdge end(Nanoseconds time) { return {.time = time}; }

/// Each edge is known by its place in the list.
Matched match(std::vector<SliceEdge> edges) {
  for (std::uint32_t i = 0; i < edges.size(); ++i) edges[i].index = i;
  Matched matched;
  const auto open = matchSlices(
      edges,
      [&](const SliceEdge& from, const SliceEdge& to) {
        matched.slices.push_back(std::to_string(from.index) + "-" + std::to_string(to.index));
      },
      [&](const SliceEdge& lone) { matched.loneEnds.push_back(lone.index); });
  for (const SliceEdge& edge : open) matched.open.push_back(edge.index);
  return matched;
}

TEST(SliceMatcherTest, SlicesNestAndTheInnerOneIsFirst) {
  const Matched matched = match({begin(1), begin(2), end(3), begin(4), end(5), end(6)});
  EXPECT_THAT(matched.slices, ElementsAre("1-2", "3-4", "0-5"));
  EXPECT_THAT(matched.loneEnds, IsEmpty());
  EXPECT_THAT(matched.open, IsEmpty());
}

TEST(SliceMatcherTest, TheFirstEndOfCrossingSlicesClosesTheOneThatBeganLast) {
  // Meant as 1 to 3 and 2 to 4, which one track cannot express.
  EXPECT_THAT(match({begin(1), begin(2), end(3), end(4)}).slices, ElementsAre("1-2", "0-3"));
}

TEST(SliceMatcherTest, AnEndWithoutABeginIsReportedAndClosesNothing) {
  const Matched matched = match({end(1), begin(2), end(3), end(4)});
  EXPECT_THAT(matched.slices, ElementsAre("1-2"));
  EXPECT_THAT(matched.loneEnds, ElementsAre(0, 3));
}

TEST(SliceMatcherTest, BeginsWithoutAnEndAreReturnedOutermostFirst) {
  const Matched matched = match({begin(1), begin(2), end(3), begin(4)});
  EXPECT_THAT(matched.slices, ElementsAre("1-2"));
  EXPECT_THAT(matched.open, ElementsAre(0, 3));
}

TEST(SliceMatcherTest, ASliceWithoutLengthIsMatched) {
  EXPECT_THAT(match({begin(7), end(7), begin(7), end(7)}).slices, ElementsAre("0-1", "2-3"));
}

TEST(SliceMatcherTest, EdgesOfEqualTimesAreTakenInTheirOrder) {
  EXPECT_THAT(match({begin(1), end(5), begin(5), end(9)}).slices, ElementsAre("0-1", "2-3"));
  EXPECT_THAT(match({begin(1), begin(5), end(5), end(9)}).slices, ElementsAre("1-2", "0-3"));
}

TEST(SliceMatcherTest, EdgesMayComeInAnyOrder) {
  const Matched matched = match({end(9), begin(5), end(5), begin(1), begin(5), end(5)});
  EXPECT_THAT(matched.slices, ElementsAre("1-2", "4-5", "3-0"));
  EXPECT_THAT(matched.loneEnds, IsEmpty());
}

TEST(SliceMatcherTest, ATrackWithoutEdgesHasNoSlices) {
  const Matched matched = match({});
  EXPECT_THAT(matched.slices, IsEmpty());
  EXPECT_THAT(matched.open, IsEmpty());
}

TEST(SliceMatcherTest, TheEndFillsWhatTheBeginLeftOut) {
  Timeline timeline;
  const auto argument = [&](const char* key) {
    return Argument::ofInteger(timeline.strings.intern(key), 1);
  };
  Event slice;
  slice.begin = 10;
  slice.step = 3;
  timeline.setArguments(slice, std::array{argument("a")});
  Event ending;
  ending.step = 4;
  ending.microBatch = 5;
  ending.stage = 6;
  ending.job = 7;
  timeline.setArguments(ending, std::array{argument("b"), argument("c")});
  endSlice(slice, 25, &ending, timeline);
  EXPECT_EQ(slice.end, 25);
  EXPECT_EQ(slice.step, 3) << "the begin said it";
  EXPECT_EQ(slice.microBatch, 5);
  EXPECT_EQ(slice.stage, 6);
  EXPECT_EQ(slice.job, 7);
  std::vector<std::string> keys;
  for (const Argument& each : timeline.argumentsOf(slice)) {
    keys.emplace_back(timeline.strings[each.key]);
  }
  EXPECT_THAT(keys, ElementsAre("a", "b", "c"));
}

TEST(SliceMatcherTest, ASliceNeverEndsBeforeItsBegin) {
  Timeline timeline;
  Event slice;
  slice.begin = 10;
  endSlice(slice, 9, nullptr, timeline);
  EXPECT_EQ(slice.end, 10);
}

}  // namespace
}  // namespace pipetrace
