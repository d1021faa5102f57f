#include "chart/rows/shown_rows.h"

#include <gtest/gtest.h>

#include "chart/row_layout.h"
#include "chart/testing/replicas.h"
#include "chart/testing/rows_text.h"

namespace pipetrace {
namespace {

struct Rows {
  explicit Rows(Timeline made) : timeline(std::move(made)) {}
  std::string text(const RowState& state = {}) const { return rowsText(model, state); }

  Timeline timeline;
  ChartModel model{timeline};
};

TEST(RowMatchesTest, FindsTextsAndWholeNumbers) {
  EXPECT_TRUE(rowMatches("", "rank 12"));
  EXPECT_TRUE(rowMatches("Rank 12", "rank 12"));
  EXPECT_TRUE(rowMatches("send", "Send_Forward"));
  EXPECT_TRUE(rowMatches("send,recv", "recv"));
  EXPECT_TRUE(rowMatches(" recv , ", "recv"));
  EXPECT_TRUE(rowMatches("rank", "rank 12"));
  EXPECT_FALSE(rowMatches("rank 1", "rank 12"));
  EXPECT_TRUE(rowMatches("rank 1", "rank 12\nrank 1"));
  EXPECT_FALSE(rowMatches("nccl", "send"));
}

TEST(ShownRowsTest, AFoldedRankShowsItsComputeRowAlone) {
  const Rows rows(makeTestTimeline({.ranks = 2, .steps = 1}));
  RowState state;
  state.folded["rank 0"] = true;
  EXPECT_EQ(rows.text(state), "+ rank 0\n- rank 1\n  . recv\n  . send\n");
  const ShownRows shown = shownRows(rows.model.rowTree(RowGrouping::kByRank), state);
  EXPECT_EQ(shown.rows[0].row, 0U);
  EXPECT_FALSE(shown.rows[0].isLoad);
  EXPECT_EQ(shown.shownAs, (std::vector<std::size_t>{0, 0, 0, 1, 2, 3}));
}

TEST(ShownRowsTest, TheFilterFindsLanesRanksAndStages) {
  const Rows rows(makeReplicas(2, {.ranks = 2, .steps = 1}));
  EXPECT_EQ(rows.text({.filter = "send"}),
            ". replica 0\n"
            "  . rank 0\n"
            "    . send\n"
            "  . rank 1\n"
            "    . send\n"
            ". replica 1\n"
            "  . rank 2\n"
            "    . send\n"
            "  . rank 3\n"
            "    . send\n");
  EXPECT_EQ(rows.text({.filter = "rank 3"}),
            ". replica 1\n"
            "  - rank 3\n"
            "    . recv\n"
            "    . send\n");
  EXPECT_EQ(rows.text({.filter = "stage 1"}),
            ". replica 0\n"
            "  - rank 1\n"
            "    . recv\n"
            "    . send\n"
            ". replica 1\n"
            "  - rank 3\n"
            "    . recv\n"
            "    . send\n");
  EXPECT_EQ(rows.text({.filter = "replica 0"}), "+ replica 0\n");
  EXPECT_EQ(rows.text({.filter = "nothing"}), "");
}

TEST(ShownRowsTest, HiddenRowsAndHeadersWithoutRowsAreMissing) {
  const Rows rows(makeReplicas(2, {.ranks = 2, .steps = 1, .hasTransfers = false}));
  EXPECT_EQ(rows.text({.hidden = {"rank 2"}}), "+ replica 0\n- replica 1\n  . rank 3\n");
  EXPECT_EQ(rows.text({.hidden = {"rank 2", "rank 3"}}), "+ replica 0\n");
  EXPECT_EQ(rows.text({.hidden = {"no such row"}}), rows.text());
}

TEST(ShownRowsTest, PinnedRowsStandOnTopInTheirOrderWithWhatIsBelowThem) {
  const Rows rows(makeTestTimeline({.ranks = 3, .steps = 1}));
  RowState state;
  state.pinned = {"rank 2/send", "rank 1", "gone"};
  EXPECT_EQ(rows.text(state),
            ". rank 2: send\n"
            "- rank 1\n"
            "  . recv\n"
            "  . send\n"
            "----\n"
            "- rank 0\n"
            "  . recv\n"
            "  . send\n"
            "- rank 2\n"
            "  . recv\n");
}

TEST(ShownRowsTest, RowsThatTheOrderDoesNotNameComeLast) {
  const Rows rows(makeTestTimeline({.ranks = 4, .steps = 1, .hasTransfers = false}));
  RowState state;
  state.order[""] = {"rank 2", "gone", "rank 0", "rank 2"};
  EXPECT_EQ(rows.text(state), ". rank 2\n. rank 0\n. rank 1\n. rank 3\n");
}

TEST(ShownRowsTest, ARowWithoutAPlaceLiesInTheMiddleOfTheFoldedRowAboveIt) {
  const Rows rows(makeReplicas(2, {.ranks = 2, .steps = 1}));
  const RowLayout layout(rows.model.rows(), shownRows(rows.model.rowTree(RowGrouping::kByRank), {}),
                         RowHeights{});
  EXPECT_FALSE(layout.isShown(1));
  EXPECT_EQ(layout[1].height, 0);
  EXPECT_EQ(layout[1].top, layout.placeOf(0).top + layout.placeOf(0).height / 2);
  EXPECT_EQ(layout.rowAt(layout[1].top), std::nullopt);
  EXPECT_TRUE(layout.isShown(6));
  EXPECT_EQ(layout.rowAt(layout[6].top), 6U);
}

TEST(ShownRowsTest, PinnedRowsStayOnTopUnlessTheyAreTooHigh) {
  const Rows rows(makeTestTimeline({.ranks = 3, .steps = 1}));
  RowState state;
  state.pinned = {"rank 1"};
  const ShownRows shown = shownRows(rows.model.rowTree(RowGrouping::kByRank), state);
  const RowLayout layout(rows.model.rows(), shown, RowHeights{});
  EXPECT_EQ(layout.pinnedCount(), 3U);
  EXPECT_GE(layout.pinnedHeight(), layout.placeOf(2).bottom());
  EXPECT_LT(layout.pinnedHeight(), layout.placeOf(3).top);
  EXPECT_EQ(layout[3].top, layout.placeOf(0).top) << "rank 1 is on top";
  const RowLayout low(rows.model.rows(), shown, RowHeights{}, layout.pinnedHeight() - 1);
  EXPECT_EQ(low.pinnedCount(), 0U);
  EXPECT_EQ(low.pinnedHeight(), 0);
  EXPECT_EQ(low[3].top, layout[3].top);
}

TEST(RowHeightTest, DeepLanesHaveASensibleHeightAndEverySubLaneAPixel) {
  for (const int deep : {2, 10, 40, 200, 1500}) {
    Timeline timeline;
    for (int i = 0; i < deep; ++i) {
      timeline.track(0, "a").events.push_back({.begin = i, .end = 5000, .kind = JobKind::kKernel});
    }
    const ChartModel model(timeline);
    const RowLayout layout(model.rows(), RowHeights{});
    const auto lanes = static_cast<std::size_t>(deep);
    ASSERT_EQ(model.rows()[0].lanes.size(), lanes);
    EXPECT_LE(layout[0].height, std::max(15 * 12, 2 * deep));
    for (std::size_t i = 0; i < lanes; ++i) {
      EXPECT_GE(RowLayout::subLane(layout[0], i, lanes).height, 1) << deep;
    }
  }
}

}  // namespace
}  // namespace pipetrace
