#include "chart/rows/row_state.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

RowState oddState() {
  RowState state;
  state.grouping = RowGrouping::kByStage;
  state.filter = "send, \\tab\there";
  state.folded = {{"rank 1", true}, {"replica 0", false}};
  state.hidden = {"rank 2/line\nbreak", ""};
  state.pinned = {"rank 9", "rank 3/send"};
  state.order = {{"", {"rank 1", "rank 0"}}, {"rank 0", {"rank 0/b\\", "rank 0/a\tb"}}};
  return state;
}

TEST(RowStateTest, TextGivesTheSameStateBack) {
  EXPECT_EQ(rowStateFrom(toText(oddState())), oddState());
  EXPECT_EQ(rowStateFrom(""), RowState{});
  EXPECT_EQ(toText(RowState{}), "");
}

TEST(RowStateTest, TextHasALineForEachThing) {
  RowState state;
  state.folded = {{"rank 1", true}};
  state.pinned = {"rank 3/send"};
  EXPECT_EQ(toText(state), "fold\trank 1\npin\trank 3/send\n");
}

TEST(RowStateTest, LinesThatAreNotKnownAreLeftOut) {
  RowState expected;
  expected.hidden = {"rank 1"};
  EXPECT_EQ(rowStateFrom("nonsense\nhide\nlater\tx\nhide\trank 1\ngroup\tplanet\n\n\\"), expected);
}

}  // namespace
}  // namespace pipetrace
