#include "chart/rows/row_edits.h"

#include <gtest/gtest.h>

#include "chart/testing/replicas.h"
#include "chart/testing/rows_text.h"

namespace pipetrace {
namespace {

class RowEditsTest : public testing::Test {
 protected:
  std::size_t node(const std::string& key) const { return tree.find(key); }
  std::string text(const RowState& state) const { return rowsText(shownRows(tree, state)); }

  Timeline timeline = makeReplicas(2, {.ranks = 3, .steps = 1});
  ChartModel model{timeline};
  const RowTree& tree = model.rowTree(RowGrouping::kByRank);
};

TEST_F(RowEditsTest, AFoldThatIsUndoneLeavesTheDefaultState) {
  RowState state = withFold({}, tree, node("rank 3"), true);
  EXPECT_NE(state, RowState{});
  EXPECT_EQ(withFold(state, tree, node("rank 3"), false), RowState{});
  state = withFold({}, tree, node("replica 0"), false);
  EXPECT_NE(state, RowState{});
  EXPECT_EQ(withFold(state, tree, node("replica 0"), true), RowState{});
  EXPECT_EQ(withFold({}, tree, node("rank 3/send"), true), RowState{}) << "nothing is below it";
}

TEST_F(RowEditsTest, AllRowsAreFoldedAndUnfolded) {
  EXPECT_EQ(text(withAllFolded({}, tree, true)), "+ replica 0\n+ replica 1\n");
  const std::string all = text(withAllFolded({}, tree, false));
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2 + 6 + 12);
  EXPECT_EQ(all.find('+'), std::string::npos);
}

TEST_F(RowEditsTest, ARowMovesAmongItsNeighboursAndStopsAtTheEnds) {
  RowState state = withAllFolded({}, tree, true);
  state = withFold(state, tree, node("replica 1"), false);
  EXPECT_EQ(text(withMoved(state, tree, node("rank 3"), 1)),
            "+ replica 0\n- replica 1\n  + rank 4\n  + rank 3\n  + rank 5\n");
  EXPECT_EQ(text(withMoved(state, tree, node("rank 3"), 9)),
            "+ replica 0\n- replica 1\n  + rank 4\n  + rank 5\n  + rank 3\n");
  EXPECT_EQ(withMoved(state, tree, node("rank 3"), -1), state);
  EXPECT_EQ(withMoved(withMoved(state, tree, node("rank 3"), 1), tree, node("rank 3"), -1), state);
  state.hidden = {"rank 4"};
  EXPECT_EQ(text(withMoved(state, tree, node("rank 5"), -1)),
            "+ replica 0\n- replica 1\n  + rank 5\n  + rank 3\n");
}

TEST_F(RowEditsTest, ARowMovesNextToANeighbourOnly) {
  const RowState state = withMovedNextTo({}, tree, node("rank 3"), node("rank 5"), true);
  EXPECT_EQ(state.order.at("replica 1"), (std::vector<std::string>{"rank 4", "rank 5", "rank 3"}));
  EXPECT_EQ(withMovedNextTo({}, tree, node("rank 3"), node("rank 0"), true), RowState{});
  EXPECT_EQ(withMovedNextTo(state, tree, node("rank 3"), node("rank 4"), false), RowState{});
}

TEST_F(RowEditsTest, PinnedRowsMoveAmongThemselves) {
  RowState state = withPin({}, tree, node("rank 5"), true);
  state = withPin(state, tree, node("rank 3/send"), true);
  EXPECT_TRUE(isPinned(tree, state, node("rank 5")));
  state = withMoved(state, tree, node("rank 5"), 1);
  EXPECT_EQ(state.pinned, (std::vector<std::string>{"rank 3/send", "rank 5"}));
  state = withPin(state, tree, node("rank 5"), false);
  EXPECT_EQ(withPin(state, tree, node("rank 3/send"), false), RowState{});
}

TEST_F(RowEditsTest, RowsStayFoldedOrUnfoldedWhenAnotherReplicaBecomesTheSlowest) {
  Timeline grown = timeline;
  for (int rank = 0; rank < 3; ++rank) {  // replica 0 becomes far slower
    for (Event& event : grown.track(rank, kComputeLane).events) event.end += kNsPerMs;
    grown.track(rank, kComputeLane).events.back().end += 1000 * kNsPerMs;
  }
  const ChartModel other(grown);
  const RowTree& to = other.rowTree(RowGrouping::kByRank);
  ASSERT_FALSE(to[to.find("replica 0")].startsFolded);
  const RowState state = withSameFolds({}, tree, to);
  EXPECT_EQ(rowsText(shownRows(to, state)), text({}));
  EXPECT_EQ(withSameFolds(state, to, tree), RowState{});
}

TEST_F(RowEditsTest, ARevealedRowIsShownWhateverHidIt) {
  const std::size_t row = tree[node("rank 1/send")].row;
  const auto isShown = [&](const RowState& state) {
    for (const ShownRow& each : shownRows(tree, state).rows) {
      if (each.row == row && !each.isLoad) return true;
    }
    return false;
  };
  RowState state;
  EXPECT_FALSE(isShown(state)) << "its replica is folded";
  EXPECT_TRUE(isShown(withRevealed(state, tree, row)));
  state.filter = "recv";
  state.folded = {{"rank 1", true}};
  state.hidden = {"rank 1/send", "replica 0", "rank 5"};
  EXPECT_TRUE(isShown(withRevealed(state, tree, row)));
  EXPECT_EQ(withRevealed(state, tree, row).hidden, std::set<std::string>{"rank 5"});
  state.filter = "send";
  EXPECT_EQ(withRevealed(state, tree, row).filter, "send") << "the filter does not hide it";
}

TEST_F(RowEditsTest, RanksAreSortedWithinTheirReplicasAndReplicasByTheirGreatest) {
  RowState state = withAllFolded({}, tree, true);
  state = withFold(state, tree, node("replica 1"), false);
  state =
      withRanksSorted(state, tree, {{"rank 0", 1}, {"rank 3", 2}, {"rank 4", 2}, {"rank 5", 7}});
  EXPECT_EQ(text(state), "- replica 1\n  + rank 5\n  + rank 3\n  + rank 4\n+ replica 0\n");
  EXPECT_EQ(state.order.count("replica 0"), 0U) << "it has the order of the run";
  EXPECT_EQ(text(withRunOrder(state)),
            "+ replica 0\n- replica 1\n  + rank 3\n  + rank 4\n  + rank 5\n");
}

TEST_F(RowEditsTest, RanksWithoutAValueComeLast) {
  RowState state = withFold(withAllFolded({}, tree, true), tree, node("replica 1"), false);
  state = withRanksSorted(state, tree, {{"rank 4", -3}});
  EXPECT_EQ(text(state), "- replica 1\n  + rank 4\n  + rank 3\n  + rank 5\n+ replica 0\n");
}

}  // namespace
}  // namespace pipetrace
