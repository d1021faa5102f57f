#include "trace/topology.h"

#include <gmock/gmock.h>

#include <set>
#include <utility>
#include <vector>

namespace pipetrace {

bool operator==(const Topology::Place& a, const Topology::Place& b) {
  return a.replica == b.replica && a.position == b.position && a.depth == b.depth &&
         a.chunks == b.chunks;
}

std::ostream& operator<<(std::ostream& out, const Topology::Place& place) {
  return out << "replica " << place.replica << " position " << place.position << " of "
             << place.depth << " chunks " << place.chunks;
}

namespace {

using enum JobKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Place = Topology::Place;

class TopologyTest : public testing::Test {
 protected:
  /// A rank with a forward of each stage.
  RankInfo& addRank(int rank, const std::vector<int>& stages = {kNotGiven}) {
    for (const int stage : stages) {
      Event event{.begin = 0, .end = 10, .stage = stage, .kind = kForward};
      timeline_.track(rank, kComputeLane).events.push_back(event);
    }
    return timeline_.ranks[rank];
  }
  void send(int from, int to) {
    Event event{.begin = 10, .end = 12, .peer = to, .kind = kSendForward};
    timeline_.track(from, kSendLane).events.push_back(event);
  }
  Topology topology() {
    timeline_.sort();
    return topologyOf(timeline_);
  }
  /// The places in the order of ranks.
  std::vector<Place> places() {
    std::vector<Place> list;
    for (const auto& [rank, place] : topology().places) list.push_back(place);
    return list;
  }
  std::vector<int> replicas() {
    std::vector<int> list;
    for (const Place& place : places()) list.push_back(place.replica);
    return list;
  }
  std::vector<int> positions() {
    std::vector<int> list;
    for (const Place& place : places()) list.push_back(place.position);
    return list;
  }

  Timeline timeline_;
};

TEST_F(TopologyTest, LogsThatNameAllOfItLeaveNothingToInfer) {
  for (const int rank : {0, 1, 2, 3}) {
    RankInfo& info = addRank(rank);
    info.worldSize = 4;
    info.numStages = 6;
    info.numChunks = 3;
    info.dataParallelIndex = rank % 2;
  }
  EXPECT_THAT(places(), ElementsAre(Place{0, 0, 2, 3}, Place{1, 0, 2, 3}, Place{0, 1, 2, 3},
                                    Place{1, 1, 2, 3}));
  const Topology found = topology();
  EXPECT_FALSE(found.inferred);
  EXPECT_EQ(found.tensorRanks, 1);
  EXPECT_THAT(found.replicas(),
              ElementsAre(Pair(0, ElementsAre(0, 2)), Pair(1, ElementsAre(1, 3))));
}

TEST_F(TopologyTest, RanksThatShareAStageHaveTheirOwnPlaces) {
  for (const int rank : {0, 1, 2, 3, 4, 5}) {
    RankInfo& info = addRank(rank, {rank % 3 == 1 ? 1 : 0});
    info.worldSize = 6;
    info.numStages = 2;
    info.numChunks = 1;
    info.dataParallelIndex = rank / 3;
    info.ranksOfStage = "0,2/1";
  }
  const Topology found = topology();
  EXPECT_FALSE(found.inferred);
  EXPECT_THAT(found.ranksOfStage, ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_EQ(found.places.at(5), (Place{1, 2, 3, 1}));
  timeline_.tracks.erase(timeline_.tracks.begin() + 4);
  EXPECT_EQ(topology().places.at(5), (Place{1, 2, 3, 1})) << "without the log of rank 4";
  timeline_.ranks[1].ranksOfStage = "0,1/2";
  EXPECT_THAT(topology().ranksOfStage, IsEmpty()) << "the logs disagree";
  for (auto& [rank, info] : timeline_.ranks) info.ranksOfStage = "0,3/3,0";
  EXPECT_THAT(topology().ranksOfStage, IsEmpty()) << "a rank has several stages";
}

TEST_F(TopologyTest, OneStageForEachRankIsOnePipeline) {
  for (const int rank : {0, 1, 2}) {
    RankInfo& info = addRank(rank);
    info.worldSize = 3;
    info.numStages = 3;
  }
  EXPECT_THAT(places(), ElementsAre(Place{0, 0, 3, 1}, Place{0, 1, 3, 1}, Place{0, 2, 3, 1}));
  EXPECT_FALSE(topology().inferred);
  timeline_.ranks[1].worldSize = 4;
  EXPECT_TRUE(topology().inferred) << "there may be a replica";
}

TEST_F(TopologyTest, PipelinesThatGroupsNameAreNotInferred) {
  for (const int rank : {0, 1, 2, 3}) {
    addRank(rank).pipelineRanks = rank % 2 == 0 ? "0/2" : "1/3";
  }
  EXPECT_FALSE(topology().inferred);
  timeline_.ranks[3].pipelineRanks.clear();
  EXPECT_TRUE(topology().inferred);
}

TEST_F(TopologyTest, PartsThatLogsDoNotNameAreInferred) {
  const auto isInferredWithout = [&](auto RankInfo::*field) {
    timeline_ = {};
    for (const int rank : {0, 1}) {
      RankInfo& info = addRank(rank);
      info.worldSize = 2;
      info.numStages = 4;
      info.numChunks = 2;
      info.dataParallelIndex = 0;
      if (rank == 1) (info.*field).reset();
    }
    return topology().inferred;
  };
  EXPECT_TRUE(isInferredWithout(&RankInfo::numStages));
  EXPECT_TRUE(isInferredWithout(&RankInfo::numChunks));
  EXPECT_FALSE(isInferredWithout(&RankInfo::dataParallelIndex)) << "4 stages fill 2 ranks";
  EXPECT_FALSE(isInferredWithout(&RankInfo::worldSize)) << "the replica is named";
}

TEST_F(TopologyTest, TheOnlyRankOfARunIsItsPipeline) {
  addRank(7).worldSize = 1;
  EXPECT_THAT(places(), ElementsAre(Place{0, 0, 1, 1}));
  EXPECT_FALSE(topology().inferred);
  timeline_.ranks[7].worldSize = 2;
  EXPECT_TRUE(topology().inferred);
}

TEST_F(TopologyTest, RanksWithoutAComputeJobHaveNoPlace) {
  addRank(0);
  send(1, 0);
  timeline_.ranks[2].worldSize = 3;
  EXPECT_THAT(places(), ElementsAre(Place{0, 0, 1, 1}));
  timeline_ = {};
  EXPECT_THAT(places(), IsEmpty());
}

TEST_F(TopologyTest, RanksThatSendToEachOtherMakeUpAPipeline) {
  for (const int rank : {0, 1, 2, 3, 4, 5}) addRank(rank);
  for (const auto& [from, to] : {std::pair(5, 3), {0, 2}, {3, 1}, {2, 4}, {4, 9}}) send(from, to);
  EXPECT_THAT(replicas(), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(positions(), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_EQ(places()[5].depth, 3);
  EXPECT_TRUE(topology().inferred);
}

TEST_F(TopologyTest, PipelinesOfUnequalSizesAreOne) {
  for (const int rank : {0, 1, 2, 3, 4}) addRank(rank);
  send(0, 1);
  send(2, 3);
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(positions(), ElementsAre(0, 1, 2, 3, 4));
  send(3, 4);
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 0, 0, 0));
}

TEST_F(TopologyTest, RanksWithoutMessagesAreOnePipeline) {
  for (const int rank : {0, 1, 2}) addRank(rank);
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 0));
}

TEST_F(TopologyTest, ChunksAreThoseThatJobsName) {
  addRank(0, {0, 2, 4});
  addRank(1, {1, 3, 5});
  for (const int rank : {0, 1}) {
    std::int32_t chunk = 0;
    for (Event& event : timeline_.track(rank, kComputeLane).events) event.chunk = chunk++;
  }
  EXPECT_EQ(places()[1].chunks, 3);
  timeline_.ranks[1].numChunks = 2;
  EXPECT_EQ(places()[1].chunks, 2) << "as the log says";
}

TEST_F(TopologyTest, NumbersThatMakeNoSenseAreNotTaken) {
  const auto placeWith = [&](int stages, int chunks) {
    timeline_ = {};
    for (const int rank : {0, 1}) {
      RankInfo& info = addRank(rank);
      info.worldSize = 2;
      info.numStages = stages;
      info.numChunks = chunks;
    }
    return places()[1];
  };
  EXPECT_EQ(placeWith(4, 2), (Place{0, 1, 2, 2}));
  EXPECT_EQ(placeWith(5, 2), (Place{0, 1, 2, 2})) << "no multiple";
  EXPECT_EQ(placeWith(0, 1), (Place{0, 1, 2, 1}));
  EXPECT_EQ(placeWith(-4, 1), (Place{0, 1, 2, 1}));
  EXPECT_EQ(placeWith(2, 0), (Place{0, 1, 2, 1}));
  EXPECT_EQ(placeWith(2, 1'000'001), (Place{0, 1, 2, 1}));
  EXPECT_EQ(placeWith(1'000'000, 1'000'000), (Place{0, -1, 1, 1'000'000}))
      << "more ranks than depth";
  EXPECT_EQ(placeWith(1'000'001, 1), (Place{0, 1, 2, 1}));
  EXPECT_EQ(placeWith(1'000'000, 1).depth, 1'000'000);
}

TEST_F(TopologyTest, NumbersOfRanksAreTheirPositionsWhereOthersOfTheOnlyPipelineAreMissing) {
  for (const int rank : {1, 3}) {
    RankInfo& info = addRank(rank);
    info.worldSize = 4;
    info.numStages = 4;
  }
  EXPECT_THAT(places(), ElementsAre(Place{0, 1, 4, 1}, Place{0, 3, 4, 1}));
  for (const int rank : {1, 3}) timeline_.ranks[rank].worldSize = 8;
  EXPECT_THAT(positions(), ElementsAre(-1, -1)) << "nobody knows which";
}

/// The positions of two of the four ranks of the second pipeline, which have jobs of these stages.
class MissingRanksTest : public TopologyTest {
 protected:
  std::pair<int, int> positionsWith(const std::vector<int>& first, const std::vector<int>& second) {
    timeline_ = {};
    for (const auto& [rank, stages] : {std::pair(5, first), std::pair(7, second)}) {
      RankInfo& info = addRank(rank, stages);
      info.worldSize = 8;
      info.numStages = 8;
      info.numChunks = 2;
      info.dataParallelIndex = 1;
    }
    const std::vector<int> found = positions();
    return {found[0], found[1]};
  }
};

TEST_F(MissingRanksTest, StagesInLoopsAndInWavesShowThePositions) {
  EXPECT_EQ(positionsWith({1, 5}, {3, 7}), std::pair(1, 3));
  EXPECT_EQ(positionsWith({0, 4}, {2}), std::pair(0, 2));
  EXPECT_EQ(positionsWith({0, 7}, {3, 4}), std::pair(0, 3));
  EXPECT_EQ(positionsWith({3, 4, 11, 12}, {2, 5, 10, 13}), std::pair(3, 2));
}

TEST_F(MissingRanksTest, OtherStagesLeaveAllWithoutAPosition) {
  const std::pair nobodyKnows(-1, -1);
  EXPECT_EQ(positionsWith({1, 5}, {2, 3}), nobodyKnows) << "neighbours on one rank";
  EXPECT_EQ(positionsWith({1, 5}, {1, 5}), nobodyKnows) << "two ranks in one place";
  EXPECT_EQ(positionsWith({1, 5}, {4}), nobodyKnows) << "the lower stage has no job";
  EXPECT_EQ(positionsWith({1, 5}, {kNotGiven}), nobodyKnows);
}

class TensorRanksTest : public TopologyTest {
 protected:
  /// Four pairs of ranks, with messages in each: ranks r and r + 4.
  void addPairs(const std::vector<int>& indices) {
    for (int rank = 0; rank < 8; ++rank) {
      addRank(rank).tensorParallelIndex = indices[static_cast<std::size_t>(rank)];
    }
    for (int rank = 0; rank < 4; ++rank) send(rank, rank + 4);
  }
};

TEST_F(TensorRanksTest, EachIndexHasPipelinesOfItsOwn) {
  for (int rank = 0; rank < 8; ++rank) {
    RankInfo& info = addRank(rank);
    info.worldSize = 8;
    info.numStages = 2;
    info.numChunks = 1;
    info.dataParallelIndex = rank / 4;
    info.tensorParallelIndex = rank % 2;
  }
  EXPECT_THAT(replicas(), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_THAT(positions(), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  const Topology found = topology();
  EXPECT_EQ(found.tensorRanks, 2);
  EXPECT_EQ(found.dataParallelIndex(3), 1);
  EXPECT_EQ(found.tensorParallelIndex(3), 1);
}

TEST_F(TensorRanksTest, InferredPipelinesOfAnIndexAreNumberedByThemselves) {
  addPairs({0, 0, 1, 1, 0, 0, 1, 1});
  EXPECT_THAT(replicas(), ElementsAre(0, 2, 1, 3, 0, 2, 1, 3));
  EXPECT_EQ(topology().tensorRanks, 2);
}

TEST_F(TensorRanksTest, APipelineWithSeveralIndicesHasNone) {
  addPairs({0, 0, 1, 1, 0, 0, 1, 0});
  EXPECT_EQ(topology().tensorRanks, 1);
}

TEST_F(TensorRanksTest, IndicesThatARankLacksOrThatMakeNoSenseDoNotCount) {
  const auto tensorRanksWith = [&](int index, int replica) {
    timeline_ = {};
    for (const int rank : {0, 1}) {
      RankInfo& info = addRank(rank);
      info.dataParallelIndex = 0;
      info.tensorParallelIndex = 0;
    }
    timeline_.ranks[1].tensorParallelIndex = index;
    timeline_.ranks[1].dataParallelIndex = replica;
    return topology().tensorRanks;
  };
  EXPECT_EQ(tensorRanksWith(1, 0), 2);
  EXPECT_EQ(tensorRanksWith(999, 0), 1000);
  EXPECT_EQ(tensorRanksWith(1000, 0), 1);
  EXPECT_EQ(tensorRanksWith(-1, 0), 1);
  EXPECT_EQ(tensorRanksWith(1, 999'999), 2);
  EXPECT_EQ(tensorRanksWith(1, 1'000'000), 1);
  EXPECT_EQ(tensorRanksWith(1, -1), 1);
  timeline_.ranks[1] = {};
  EXPECT_EQ(topology().tensorRanks, 1);
}

}  // namespace
}  // namespace pipetrace
