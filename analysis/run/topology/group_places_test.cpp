#include "analysis/run/topology/group_places.h"

#include <gmock/gmock.h>

#include "analysis/run_contents.h"
#include "analysis/testing/diagnostic_texts.h"
#include "analysis/testing/hand_made_timeline.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class GroupPlacesTest : public testing::Test {
 protected:
  /// Ranks with a forward and a backward of these stages.
  void addRanks(const std::map<int, int>& stageOfRank, int worldSize) {
    for (const auto& [rank, stage] : stageOfRank) {
      made_.add(rank, JobKind::kForward, 10, 20, 0).stage = stage;
      made_.add(rank, JobKind::kBackward, 30, 40, 0).stage = stage;
      made_.timeline.ranks[rank].rank = rank;
      made_.timeline.ranks[rank].worldSize = worldSize;
    }
  }

  /// A group, which the ranks of it that have files name.
  void group(GroupAxis axis, const std::vector<int>& ranks, bool reducesInForwards = false,
             bool reduces = false) {
    for (const int rank : ranks) {
      const auto info = made_.timeline.ranks.find(rank);
      if (info != made_.timeline.ranks.end()) {
        info->second.groups.push_back({ranks, axis, reduces, reducesInForwards});
      }
    }
  }

  void send(int from, int to) {
    made_.add(from, JobKind::kSendForward, 20, 21, 0, 0, kSendLane).peer = to;
    made_.add(to, JobKind::kRecvForward, 20, 21, 0, 0, kRecvLane).peer = from;
  }

  Topology placed() {
    made_.timeline.sort();
    placeByGroups(made_.timeline, diagnostics_);
    return topologyOf(made_.timeline);
  }

  static std::vector<std::vector<int>> pipelines(const Topology& topology) {
    std::vector<std::vector<int>> list;
    for (const auto& [number, ranks] : topology.replicas()) list.push_back(ranks);
    return list;
  }

  std::vector<std::string> reported() const { return textsOf(diagnostics_); }

  HandMadeTimeline made_;
  Diagnostics diagnostics_;
};

TEST_F(GroupPlacesTest, NamedGroupsGivePipelinesPeersAndReplicas) {
  // PP 2, DP 2, TP 2 in Megatron-LM's order: tp, dp, pp.
  addRanks({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 1}, {5, 1}, {6, 1}, {7, 1}}, 8);
  for (int rank = 0; rank < 4; ++rank) group(GroupAxis::kPipeline, {rank, rank + 4});
  for (int rank = 0; rank < 8; rank += 2) group(GroupAxis::kTensor, {rank, rank + 1});
  for (const int rank : {0, 1, 4, 5}) group(GroupAxis::kData, {rank, rank + 2});
  group(GroupAxis::kUnknown, {0, 1, 2, 3, 4, 5, 6, 7});
  const Topology topology = placed();
  EXPECT_FALSE(topology.inferred);
  EXPECT_EQ(topology.tensorRanks, 2);
  EXPECT_THAT(pipelines(topology), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5),
                                               ElementsAre(2, 6), ElementsAre(3, 7)));
  EXPECT_EQ(topology.dataParallelIndex(topology.places.at(7).replica), 1);
  EXPECT_EQ(topology.tensorParallelIndex(topology.places.at(7).replica), 1);
  EXPECT_EQ(topology.places.at(7).position, 1);
  const StatedTopology stated = statedTopology(made_.timeline);
  EXPECT_EQ(stated.pipelineRanks, 2);
  EXPECT_EQ(stated.replicas, 2);
  EXPECT_EQ(stated.tensorRanks, 2);
  EXPECT_EQ(stated.chunks, 1);
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(GroupPlacesTest, RanksOfASequenceShareAStageToo) {
  addRanks({{0, 0}, {1, 0}, {2, 0}, {3, 0}}, 4);
  for (int rank = 0; rank < 4; ++rank) group(GroupAxis::kPipeline, {rank});
  group(GroupAxis::kTensor, {0, 1});
  group(GroupAxis::kTensor, {2, 3});
  group(GroupAxis::kContext, {0, 2});
  group(GroupAxis::kContext, {1, 3});
  const Topology topology = placed();
  EXPECT_EQ(topology.tensorRanks, 4);
  EXPECT_EQ(topology.dataParallelIndex(topology.places.at(3).replica), 0);
}

TEST_F(GroupPlacesTest, RanksWithoutAFileAreKnownFromTheGroupsOfOthers) {
  addRanks({{1, 0}, {2, 1}, {3, 1}}, 4);
  group(GroupAxis::kPipeline, {1, 3});
  group(GroupAxis::kPipeline, {0, 2});
  group(GroupAxis::kTensor, {0, 1});
  group(GroupAxis::kTensor, {2, 3});
  const Topology topology = placed();
  EXPECT_EQ(topology.tensorRanks, 2);
  EXPECT_EQ(topology.places.at(2).depth, 2);
  EXPECT_EQ(topology.places.at(2).position, 1) << "behind rank 0, which has no file";
  EXPECT_EQ(topology.tensorParallelIndex(topology.places.at(2).replica), 0);
  EXPECT_EQ(topology.tensorParallelIndex(topology.places.at(1).replica), 1);
}

TEST_F(GroupPlacesTest, StagesOfSeveralChunksAreCountedFromTheJobs) {
  addRanks({{0, 0}, {1, 1}}, 2);
  made_.add(1, JobKind::kForward, 50, 60, 0).stage = 3;
  group(GroupAxis::kPipeline, {0, 1});
  const Topology topology = placed();
  EXPECT_EQ(topology.places.at(0).chunks, 2);
  EXPECT_EQ(made_.timeline.ranks.at(0).numStages, 4);
}

TEST_F(GroupPlacesTest, WithoutNamesUseDecides) {
  addRanks({{0, 0}, {1, 0}, {2, 1}, {3, 1}}, 4);
  send(0, 2);
  send(1, 3);
  group(GroupAxis::kUnknown, {0, 1, 2, 3});
  group(GroupAxis::kUnknown, {0, 1}, true);
  group(GroupAxis::kUnknown, {2, 3}, true);
  const Topology topology = placed();
  EXPECT_EQ(topology.tensorRanks, 2);
  EXPECT_THAT(pipelines(topology), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST_F(GroupPlacesTest, GroupsThatReduceAfterTheJobsMakeReplicas) {
  addRanks({{0, 0}, {1, 0}, {2, 1}, {3, 1}}, 4);
  send(0, 2);
  send(1, 3);
  group(GroupAxis::kUnknown, {0, 1});
  group(GroupAxis::kUnknown, {2, 3});
  const Topology topology = placed();
  EXPECT_EQ(topology.tensorRanks, 1);
  EXPECT_EQ(topology.replicas().size(), 2U);
}

TEST_F(GroupPlacesTest, ASumOfLossesOnTheLastStageAloneMakesNoPeers) {
  addRanks({{0, 0}, {1, 0}, {2, 1}, {3, 1}}, 4);
  send(0, 2);
  send(1, 3);
  group(GroupAxis::kUnknown, {0, 1});
  group(GroupAxis::kUnknown, {2, 3}, true);
  EXPECT_EQ(placed().tensorRanks, 1);
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(GroupPlacesTest, GroupOfAllRanksIsThePipelineWhereFilesAreMissingAndThereIsNoOtherGroup) {
  for (const int rank : {0, 3}) {
    made_.add(rank, JobKind::kForward, 10, 20, 0);
    made_.add(rank, JobKind::kSendForward, 20, 21, 0, 0, kSendLane);
    made_.timeline.ranks[rank].worldSize = 4;
  }
  group(GroupAxis::kUnknown, {0, 1, 2, 3});
  const Topology topology = placed();
  EXPECT_EQ(topology.places.at(3).position, 3);
  EXPECT_EQ(topology.places.at(3).depth, 4);
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(GroupPlacesTest, GroupThatHoldsThePeersIsThePipelineWhereFilesAreMissing) {
  for (const int rank : {0, 3, 5}) {
    made_.add(rank, JobKind::kForward, 10, 20, 0);
    made_.timeline.ranks[rank].worldSize = 6;
  }
  made_.add(0, JobKind::kSendForward, 20, 21, 0, 0, kSendLane).peer = 2;
  made_.add(3, JobKind::kSendForward, 20, 21, 0, 0, kSendLane).peer = 5;
  made_.add(5, JobKind::kRecvForward, 20, 21, 0, 0, kRecvLane).peer = 3;
  group(GroupAxis::kUnknown, {0, 1, 2, 3, 4, 5});
  group(GroupAxis::kUnknown, {0, 2, 4});
  group(GroupAxis::kUnknown, {1, 3, 5});
  for (const int first : {0, 2, 4}) group(GroupAxis::kUnknown, {first, first + 1}, false, true);
  const Topology topology = placed();
  EXPECT_THAT(pipelines(topology), ElementsAre(ElementsAre(0), ElementsAre(3, 5)));
  EXPECT_EQ(topology.places.at(3).position, 1);
  EXPECT_EQ(topology.places.at(5).position, 2);
}

TEST_F(GroupPlacesTest, GroupOfAllRanksIsNoPipelineOfRanksThatAreInOthers) {
  for (const int rank : {0, 3}) {
    made_.add(rank, JobKind::kForward, 10, 20, 0);
    made_.add(rank, JobKind::kSendForward, 20, 21, 0, 0, kSendLane);
    made_.timeline.ranks[rank].worldSize = 4;
    made_.timeline.ranks[rank].jobsFound = 1;
  }
  group(GroupAxis::kUnknown, {0, 1, 2, 3});
  group(GroupAxis::kUnknown, {0, 1});
  group(GroupAxis::kUnknown, {2, 3});
  EXPECT_EQ(placed().places.at(3).position, -1) << "nothing tells";
}

TEST_F(GroupPlacesTest, WhereTheOtherAxesConnectAllRanksNoneIsBehindAnother) {
  addRanks({{0, 0}, {1, 0}, {2, 0}, {3, 0}}, 4);
  group(GroupAxis::kTensor, {0, 1});
  group(GroupAxis::kTensor, {2, 3});
  group(GroupAxis::kData, {0, 2});
  group(GroupAxis::kData, {1, 3});
  const Topology topology = placed();
  EXPECT_EQ(topology.places.at(3).depth, 1);
  EXPECT_EQ(topology.tensorRanks, 2);
  EXPECT_EQ(topology.dataParallelIndex(topology.places.at(3).replica), 1);
}

TEST_F(GroupPlacesTest, RanksThatOnlyAddUpAreReplicas) {
  for (int rank = 0; rank < 3; ++rank) {
    made_.add(rank, JobKind::kForward, 10, 20, 0);
    made_.timeline.ranks[rank].worldSize = 3;
  }
  group(GroupAxis::kUnknown, {0, 1, 2}, false, true);
  EXPECT_EQ(placed().replicas().size(), 3U);
}

TEST_F(GroupPlacesTest, GroupsThatContradictEachOtherAreADoubtAndNotUsed) {
  addRanks({{0, 0}, {1, 1}}, 2);
  group(GroupAxis::kPipeline, {0, 1});
  group(GroupAxis::kTensor, {0, 1});
  placed();
  EXPECT_FALSE(made_.timeline.ranks.at(0).dataParallelIndex);
  ASSERT_THAT(reported(), ElementsAre(HasSubstr("groups of ranks contradict each other")));
  EXPECT_EQ(diagnostics_.list().front().doubt, DoubtKind::kRanksContradict);
}

TEST_F(GroupPlacesTest, TheWordOfLogsIsLeftAsItIs) {
  addRanks({{0, 0}, {1, 0}}, 2);
  for (auto& [rank, info] : made_.timeline.ranks) info.dataParallelIndex = rank;
  group(GroupAxis::kPipeline, {0, 1});
  placed();
  EXPECT_EQ(made_.timeline.ranks.at(1).dataParallelIndex, 1);
  EXPECT_THAT(made_.timeline.ranks.at(1).pipelineRanks, IsEmpty());
}

}  // namespace
}  // namespace pipetrace
