#include "chart/rows/row_tree.h"

#include <gtest/gtest.h>

#include "chart/row_layout.h"
#include "chart/testing/replicas.h"
#include "chart/testing/rows_text.h"

namespace pipetrace {
namespace {

constexpr TestRun kTwoStages{.ranks = 2, .steps = 1};

std::string withoutLanes(const ChartModel& model, RowState state = {}) {
  state.filter = "rank, replica, host, stage";
  for (const ChartRow& row : model.rows()) state.folded["rank " + std::to_string(row.rank)] = true;
  return rowsText(model, state);
}

void addOther(Timeline& timeline, int rank, const std::string& lane, int count, int deep = 1) {
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < deep; ++k) {
      timeline.track(rank, lane)
          .events.push_back({.begin = kTestEpoch + 10 * i,
                             .end = kTestEpoch + 10 * i + 5,
                             .kind = JobKind::kOther});
    }
  }
}

TEST(RowTreeTest, OneHostAndOneReplicaHaveNoHeader) {
  Timeline timeline = makeTestTimeline(kTwoStages);
  for (auto& [rank, info] : timeline.ranks) info.host = "node-a";
  const ChartModel model(timeline);
  EXPECT_EQ(rowsText(model),
            "- rank 0\n"
            "  . recv\n"
            "  . send\n"
            "- rank 1\n"
            "  . recv\n"
            "  . send\n");
}

TEST(RowTreeTest, AllReplicasButTheSlowestStartFolded) {
  const Timeline timeline = makeReplicas(3, {.ranks = 2, .steps = 2, .hasTransfers = false});
  const ChartModel model(timeline);
  EXPECT_EQ(rowsText(model),
            "+ replica 0\n"
            "+ replica 1\n"
            "- replica 2\n"
            "  . rank 4\n"
            "  . rank 5\n");
}

TEST(RowTreeTest, TheReplicaThatWorksMostIsUnfoldedWhereAllEndTogether) {
  Timeline timeline = makeReplicas(2, {.ranks = 2, .steps = 1, .hasTransfers = false});
  Nanoseconds end = kNsMin;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) end = std::max(end, event.end);
  }
  for (Track& track : timeline.tracks) {
    if (track.lane != kComputeLane) continue;
    // Replica 0 waits for the other's gradients, and ends a microsecond later.
    const Nanoseconds begin = end + (track.rank < 2 ? kNsPerUs : 0);
    track.events.push_back(
        {.begin = begin, .end = begin + 10, .step = 0, .kind = JobKind::kOptimizer});
  }
  EXPECT_EQ(withoutLanes(ChartModel(timeline)),
            "+ replica 0\n"
            "- replica 1\n"
            "  . rank 2\n"
            "  . rank 3\n");
}

TEST(RowTreeTest, RanksThatShareAStageSayWhoseTurnIsTheirs) {
  Timeline timeline = makeTestTimeline({.ranks = 3, .steps = 1, .hasTransfers = false});
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) event.stage = track.rank == 2 ? 1 : 0;
  }
  for (auto& [rank, info] : timeline.ranks) {
    info.worldSize = 3;
    info.numStages = 2;
    info.numChunks = 1;
    info.ranksOfStage = "1,0/2";
  }
  const ChartModel model(timeline);
  const auto detailOf = [&](RowGrouping grouping, const char* key) {
    const RowTree& tree = model.rowTree(grouping);
    return tree[tree.find(key)].detail;
  };
  EXPECT_EQ(detailOf(RowGrouping::kByRank, "rank 0"), "stage 0, 2 of 2");
  EXPECT_EQ(detailOf(RowGrouping::kByRank, "rank 1"), "stage 0, 1 of 2");
  EXPECT_EQ(detailOf(RowGrouping::kByRank, "rank 2"), "stage 1");
  EXPECT_EQ(detailOf(RowGrouping::kByStage, "rank 0"), "stage 0, 2 of 2");
}

TEST(RowTreeTest, HostsHoldTheReplicasThatRunOnThem) {
  Timeline timeline = makeReplicas(4, kTwoStages);
  for (auto& [rank, info] : timeline.ranks) info.host = rank < 4 ? "a" : "b";
  const ChartModel model(timeline);
  RowState state;
  state.folded = {{"host a", false}, {"host a/replica 1", false}};
  EXPECT_EQ(withoutLanes(model, state),
            "- host a\n"
            "  + replica 0\n"
            "  - replica 1\n"
            "    + rank 2\n"
            "    + rank 3\n"
            "- host b\n"
            "  + replica 2\n"
            "  - replica 3\n"
            "    + rank 6\n"
            "    + rank 7\n");
}

TEST(RowTreeTest, AReplicaThatRunsOnSeveralHostsHoldsThem) {
  Timeline timeline = makeReplicas(2, kTwoStages);
  for (auto& [rank, info] : timeline.ranks) info.host = rank % 2 == 0 ? "a" : "b";
  const ChartModel model(timeline);
  EXPECT_EQ(withoutLanes(model),
            "+ replica 0\n"
            "- replica 1\n"
            "  - host a\n"
            "    + rank 2\n"
            "  - host b\n"
            "    + rank 3\n");
}

TEST(RowTreeTest, ByStageTheRanksOfAStageStandTogether) {
  const Timeline timeline = makeReplicas(2, kTwoStages);
  const ChartModel model(timeline);
  EXPECT_EQ(withoutLanes(model, {.grouping = RowGrouping::kByStage}),
            "- stage 0\n"
            "  + rank 0\n"
            "  + rank 2\n"
            "- stage 1\n"
            "  + rank 1\n"
            "  + rank 3\n");
}

TEST(RowTreeTest, ByStageARankWithSeveralChunksStandsOnceUnderItsFirstStage) {
  Timeline timeline;
  for (int rank = 0; rank < 2; ++rank) {
    for (int chunk = 0; chunk < 2; ++chunk) {  // rank 0 has stages 1 and 3, rank 1 has 0 and 2
      timeline.track(rank, kComputeLane)
          .events.push_back({.begin = 10 * chunk,
                             .end = 10 * chunk + 5,
                             .stage = 1 - rank + 2 * chunk,
                             .kind = JobKind::kForward});
    }
  }
  timeline.sort();
  const ChartModel model(timeline);
  EXPECT_EQ(rowsText(model, {.grouping = RowGrouping::kByStage}),
            ". stages 0, 2\n"
            ". stages 1, 3\n");
}

TEST(RowTreeTest, AHeaderNamesAllStagesOfItsRanks) {
  Timeline timeline;
  for (int rank = 0; rank < 4; ++rank) {  // of two replicas, each with the stages 0 to 3
    timeline.ranks[rank].dataParallelIndex = rank / 2;
    for (int chunk = 0; chunk < 2; ++chunk) {
      timeline.track(rank, kComputeLane)
          .events.push_back({.begin = 10 * chunk,
                             .end = 10 * chunk + 5,
                             .stage = rank % 2 + 2 * chunk,
                             .kind = JobKind::kForward});
    }
  }
  timeline.sort();
  const ChartModel model(timeline);
  const std::string text = withoutLanes(model, {.grouping = RowGrouping::kByStage});
  EXPECT_NE(text.find("- stages 0, 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("- stages 1, 3\n"), std::string::npos) << text;
}

TEST(RowTreeTest, StagesOfManyRanksStartFolded) {
  const Timeline timeline = makeReplicas(9, kTwoStages);
  const ChartModel model(timeline);
  EXPECT_EQ(rowsText(model, {.grouping = RowGrouping::kByStage}), "+ stage 0\n+ stage 1\n");
}

TEST(RowTreeTest, LanesWithoutPipelineWorkStartAsOneRow) {
  Timeline timeline = makeTestTimeline({.ranks = 1, .steps = 1, .hasTransfers = false});
  addOther(timeline, 0, "gloo:1", 3);
  addOther(timeline, 0, "gloo:2", 3);
  addOther(timeline, 0, "host", 3);
  timeline.track(0, "nccl").events.push_back(
      {.begin = kTestEpoch, .end = kTestEpoch + 5, .kind = JobKind::kAllReduce});
  timeline.sort();
  const ChartModel model(timeline);
  EXPECT_EQ(rowsText(model),
            "- rank 0\n"
            "  . nccl\n"
            "  + 3 other lanes\n");
  RowState state;
  state.folded["rank 0//other lanes"] = false;
  EXPECT_EQ(rowsText(model, state),
            "- rank 0\n"
            "  . nccl\n"
            "  - 3 other lanes\n"
            "    . gloo:1\n"
            "    . gloo:2\n"
            "    . host\n");
}

TEST(RowTreeTest, OneDeepLaneWithoutPipelineWorkStartsFolded) {
  Timeline timeline = makeTestTimeline({.ranks = 1, .steps = 1, .hasTransfers = false});
  addOther(timeline, 0, "gloo", 2, 30);
  timeline.sort();
  const ChartModel model(timeline);
  ASSERT_EQ(model.rows()[1].lanes.size(), 30U);
  EXPECT_EQ(rowsText(model), "- rank 0\n  + gloo\n");
}

TEST(RowTreeTest, CountersStandUnderTheirRank) {
  Timeline timeline = makeTestTimeline({.ranks = 2, .steps = 1, .hasTransfers = false});
  timeline.counters.push_back({1, "memory", "bytes", {{kTestEpoch, 1024}, {kTestEpoch + 5, 4096}}});
  timeline.counters.push_back({7, "loss", "", {}});  // of a rank that has nothing else
  const ChartModel model(timeline);
  EXPECT_EQ(rowsText(model),
            ". rank 0\n"
            "- rank 1\n"
            "  . memory\n"
            "- rank 7\n"
            "  . loss\n");
  const RowTree& tree = model.rowTree(RowGrouping::kByRank);
  EXPECT_EQ(tree[tree.find("rank 1//counter/memory")].detail, "1 KiB to 4 KiB");
}

TEST(RowTreeTest, EveryRowOfTheChartHasOneNodeWithAKeyOfItsOwn) {
  Timeline timeline = makeReplicas(3, {.ranks = 4, .steps = 1});
  addOther(timeline, 5, "x", 1);
  addOther(timeline, 5, "y", 1);
  timeline.sort();
  const ChartModel model(timeline);
  for (const RowGrouping grouping : {RowGrouping::kByRank, RowGrouping::kByStage}) {
    const RowTree& tree = model.rowTree(grouping);
    for (std::size_t row = 0; row < model.rows().size(); ++row) {
      EXPECT_EQ(tree[tree.nodeOf(row)].row, row);
    }
    for (std::size_t node = 0; node < tree.size(); ++node) {
      EXPECT_EQ(tree.find(tree[node].key), node) << tree[node].key;
    }
  }
}

/// Two replicas of two tensor-parallel peers each, of two stages: ranks 0 to 7. Jobs of rank 6 are
/// longest.
Timeline hybridRanks() {
  Timeline timeline = makeReplicas(4, {.ranks = 2, .steps = 1, .hasTransfers = false});
  for (auto& [rank, info] : timeline.ranks) {
    info.dataParallelIndex = rank / 4;
    info.tensorParallelIndex = rank / 2 % 2;
  }
  for (Track& track : timeline.tracks) {
    if (track.rank != 6 || track.lane != kComputeLane) continue;
    for (Event& event : track.events) event.end += event.kind == JobKind::kForward ? 1000 : 0;
  }
  return timeline;
}

std::string grouped(const ChartModel& model, RowGrouping grouping, bool isFolded) {
  RowState state;
  state.grouping = grouping;
  const RowTree& tree = model.rowTree(grouping);
  for (const std::size_t node : tree.top()) state.folded[tree[node].key] = isFolded;
  return rowsText(model, state);
}

TEST(RowTreeTest, RanksAreGroupedByPipelinesPeersAndReplicas) {
  const Timeline timeline = hybridRanks();
  const ChartModel model(timeline);
  EXPECT_EQ(grouped(model, RowGrouping::kByReplica, true), "+ replica 0\n+ replica 1\n");
  EXPECT_EQ(grouped(model, RowGrouping::kByPipeline, true),
            "+ pipeline 0\n+ pipeline 1\n+ pipeline 2\n+ pipeline 3\n");
  EXPECT_EQ(grouped(model, RowGrouping::kByTensorPeers, false),
            "- replica 0, stage 0\n  . rank 0\n  . rank 2\n"
            "- replica 0, stage 1\n  . rank 1\n  . rank 3\n"
            "- replica 1, stage 0\n  . rank 4\n  . rank 6\n"
            "- replica 1, stage 1\n  . rank 5\n  . rank 7\n");
  EXPECT_EQ(grouped(model, RowGrouping::kByDataPeers, false),
            "- stage 0, tensor rank 0\n  . rank 0\n  . rank 4\n"
            "- stage 1, tensor rank 0\n  . rank 1\n  . rank 5\n"
            "- stage 0, tensor rank 1\n  . rank 2\n  . rank 6\n"
            "- stage 1, tensor rank 1\n  . rank 3\n  . rank 7\n");
}

TEST(RowTreeTest, TensorParallelPeersOfASingleReplicaAreNoReplicas) {
  Timeline timeline = hybridRanks();
  for (auto& [rank, info] : timeline.ranks) {
    info.dataParallelIndex = 0;
    info.tensorParallelIndex = rank / 2;
  }
  const ChartModel model(timeline);
  RowState state;
  const RowTree& tree = model.rowTree(state.grouping);
  for (const std::size_t node : tree.top()) state.folded[tree[node].key] = true;
  EXPECT_EQ(rowsText(model, state),
            "+ tensor rank 0\n+ tensor rank 1\n+ tensor rank 2\n+ tensor rank 3\n");
  const RowTree& byStage = model.rowTree(RowGrouping::kByStage);
  EXPECT_EQ(byStage[byStage.find("rank 6")].detail, "tensor rank 3");
}

TEST(RowTreeTest, AFoldedGroupShowsTheRowOfItsMemberWithMostWork) {
  const Timeline timeline = hybridRanks();
  const ChartModel model(timeline);
  RowState state;
  state.grouping = RowGrouping::kByTensorPeers;
  state.folded = {{"peers of replica 1, stage 0", true}};
  const ShownRows shown = shownRows(model.rowTree(state.grouping), state);
  const ShownRow* folded = nullptr;
  for (const ShownRow& row : shown.rows) {
    if (row.label == "replica 1, stage 0") folded = &row;
  }
  ASSERT_NE(folded, nullptr);
  ASSERT_TRUE(folded->showsLanes());
  EXPECT_EQ(model.rows()[folded->row].rank, 6);
  EXPECT_EQ(folded->detail, "rank 6, most work of 2");
  const RowLayout layout(model.rows(), shown, RowHeights{});
  EXPECT_TRUE(layout.isShown(folded->row));
  EXPECT_EQ(layout[folded->row].height, RowHeights{}.compute) << "as high as the rank itself";
}

TEST(RowTreeTest, AGroupingOfOneGroupOrOfSingleRanksHasNoHeaders) {
  const Timeline timeline = makeTestTimeline({.ranks = 2, .steps = 1, .hasTransfers = false});
  const ChartModel model(timeline);
  for (const RowGrouping grouping : {RowGrouping::kByPipeline, RowGrouping::kByReplica,
                                     RowGrouping::kByTensorPeers, RowGrouping::kByDataPeers}) {
    EXPECT_EQ(grouped(model, grouping, false), ". rank 0\n. rank 1\n");
  }
}

}  // namespace
}  // namespace pipetrace
