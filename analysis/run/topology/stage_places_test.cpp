#include "analysis/run/topology/stage_places.h"

#include <gmock/gmock.h>

#include "analysis/testing/diagnostic_texts.h"
#include "analysis/testing/hand_made_timeline.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StagePlacesTest : public testing::Test {
 protected:
  /// A rank with a forward and a backward of each micro-batch on these stages.
  void addRank(int rank, const std::vector<int>& stages,
               const std::vector<int>& microBatches = {0, 1}) {
    for (const int stage : stages) {
      for (const int microBatch : microBatches) {
        const Nanoseconds begin = 100 * stage + 10 * microBatch;
        made_.add(rank, JobKind::kForward, begin, begin + 5, 0, microBatch).stage = stage;
        made_.add(rank, JobKind::kBackward, 1000 - begin, 1005 - begin, 0, microBatch).stage =
            stage;
      }
    }
    made_.timeline.ranks[rank].rank = rank;
  }

  std::vector<std::vector<int>> pipelines() {
    made_.timeline.sort();
    placeByStages(made_.timeline, diagnostics_);
    std::vector<std::vector<int>> list;
    for (const auto& [number, ranks] : topologyOf(made_.timeline).replicas()) list.push_back(ranks);
    return list;
  }

  std::vector<std::string> reported() const { return textsOf(diagnostics_); }
  const RankInfo& infoOf(int rank) const { return made_.timeline.ranks.at(rank); }

  HandMadeTimeline made_;
  Diagnostics diagnostics_;
};

TEST_F(StagePlacesTest, RanksThatRunTheSameJobsAreReplicasThatCountFirst) {
  for (const int rank : {0, 1, 2, 3, 4, 5}) addRank(rank, {rank / 2});
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
  EXPECT_EQ(infoOf(3).pipelineRanks, "1/3/5");
  EXPECT_EQ(infoOf(3).numStages, 3);
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("2 pipelines, the first of ranks 0, 2 and 4")));
}

TEST_F(StagePlacesTest, PipelinesMayCountFirst) {
  for (const int rank : {0, 1, 2, 3, 4, 5}) addRank(rank, {rank % 3});
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
}

TEST_F(StagePlacesTest, RanksWithoutAFileKeepTheirPlaces) {
  for (const int rank : {0, 1, 3, 4, 7}) addRank(rank, {rank / 2});
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 3, 7)));
  EXPECT_EQ(infoOf(4).pipelineRanks, "0/2/4/6");
  EXPECT_EQ(topologyOf(made_.timeline).places.at(4).position, 2);
  EXPECT_EQ(topologyOf(made_.timeline).places.at(7).position, 3);
}

TEST_F(StagePlacesTest, PositionsOfAPipelineThatLacksRanksAreTheirNumbers) {
  addRank(0, {0});
  addRank(3, {3});
  made_.add(3, JobKind::kSendForward, 20, 21, 0, 0, kSendLane).stage = 3;
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 3)));
  EXPECT_EQ(infoOf(3).pipelineRanks, "0/1/2/3/4") << "it sends to a stage 4";
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("1 pipeline of ranks 0 to 4 in this order, as "
                                                "jobs and messages name stages of ranks that")));
}

TEST_F(StagePlacesTest, PipelineThatIsWholeIsLeftToMessagesAndNumbers) {
  for (const int rank : {0, 1, 2}) addRank(rank, {2 - rank});
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(reported(), IsEmpty());
  EXPECT_EQ(infoOf(0).pipelineRanks, "");
}

TEST_F(StagePlacesTest, ChunksOfLoopsAndOfAVTellThePositions) {
  for (const int rank : {0, 1, 2, 3}) addRank(rank, {rank / 2, rank / 2 + 2});
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_EQ(infoOf(0).numChunks, 2);
  EXPECT_EQ(infoOf(0).numStages, 4);

  made_ = {};
  for (const int rank : {0, 1, 2, 3}) addRank(rank, {rank / 2, 3 - rank / 2});
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST_F(StagePlacesTest, NumbersThatFitNeitherOrderSayNothing) {
  addRank(0, {0});
  addRank(1, {1});
  addRank(2, {1});
  addRank(3, {0});
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(StagePlacesTest, FileThatIsThereTwiceIsNoReplica) {
  for (const int rank : {0, 1, 2, 3}) addRank(rank, {rank});
  addRank(4, {0});
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 1, 2, 3, 4)));
}

TEST_F(StagePlacesTest, RanksThatShareTheMicroBatchesOfAStageAreNoReplicas) {
  addRank(0, {0}, {0, 2});
  addRank(1, {0}, {1, 3});
  addRank(2, {1}, {0, 2});
  addRank(3, {1}, {1, 3});
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST_F(StagePlacesTest, PeersOfMessagesTellTheNumberOfReplicas) {
  for (const int rank : {0, 1, 3}) addRank(rank, {rank / 2});
  Event& send = made_.add(0, JobKind::kSendForward, 20, 21, 0, 0, kSendLane);
  send.stage = 0;
  send.peer = 3;
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(0, 3), ElementsAre(1)));
  EXPECT_EQ(infoOf(1).pipelineRanks, "1/4") << "three replicas, and not two";
}

TEST_F(StagePlacesTest, WhatLogsOrOptionsSayStays) {
  for (const int rank : {0, 1, 2, 3}) {
    addRank(rank, {rank / 2});
    made_.timeline.ranks[rank].dataParallelIndex = 1 - rank % 2;
  }
  EXPECT_THAT(pipelines(), ElementsAre(ElementsAre(1, 3), ElementsAre(0, 2)));
  EXPECT_THAT(reported(), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
