#include "analysis/run/topology/given_topology.h"

#include <gmock/gmock.h>

#include "analysis/run_contents.h"
#include "analysis/testing/diagnostic_texts.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "trace/error.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class GivenTopologyTest : public testing::Test {
 protected:
  void addRanks(int count) {
    for (int rank = 0; rank < count; ++rank) made_.add(rank, JobKind::kForward, 10, 20, 0);
  }

  void send(int from, int to) {
    made_.add(from, JobKind::kSendForward, 20, 21, 0, 0, kSendLane).peer = to;
  }

  void give(const GivenTopology& given) {
    made_.timeline.sort();
    giveTopology(made_.timeline, given, diagnostics_);
  }

  void expectRefused(const GivenTopology& given, const char* message) {
    try {
      give(given);
      FAIL() << "no error: " << message;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }

  std::vector<int> replicas() {
    std::vector<int> list;
    for (const auto& [rank, info] : made_.timeline.ranks) {
      list.push_back(info.dataParallelIndex.value_or(-1));
    }
    return list;
  }

  std::vector<int> tensorIndices() {
    std::vector<int> list;
    for (const auto& [rank, info] : made_.timeline.ranks) {
      list.push_back(info.tensorParallelIndex.value_or(-1));
    }
    return list;
  }

  /// A forward of each rank, of these stages.
  void addStages(const std::vector<int>& stages) {
    for (std::size_t rank = 0; rank < stages.size(); ++rank) {
      made_.add(static_cast<int>(rank), JobKind::kForward, 10, 20, 0).stage = stages[rank];
    }
  }

  std::vector<std::string> reported() const { return textsOf(diagnostics_); }

  HandMadeTimeline made_;
  Diagnostics diagnostics_;
};

TEST_F(GivenTopologyTest, RanksInARowAreAPipeline) {
  addRanks(6);
  give({.pipelineRanks = 3, .replicas = 2, .chunks = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_EQ(made_.timeline.ranks[4].numStages, 6);
  EXPECT_EQ(made_.timeline.ranks[4].numChunks, 2);
  const Topology topology = topologyOf(made_.timeline);
  EXPECT_FALSE(topology.inferred);
  EXPECT_EQ(topology.places.at(4).position, 1);
  EXPECT_EQ(topology.places.at(4).depth, 3);
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(GivenTopologyTest, OneOfPpAndDpFollowsFromTheOther) {
  for (const GivenTopology& given :
       {GivenTopology{.pipelineRanks = 2}, GivenTopology{.replicas = 3}}) {
    made_ = {};
    addRanks(6);
    give(given);
    EXPECT_THAT(replicas(), ElementsAre(0, 0, 1, 1, 2, 2));
    const StatedTopology stated = statedTopology(made_.timeline);
    EXPECT_EQ(stated.pipelineRanks, 2);
    EXPECT_EQ(stated.replicas, 3);
    EXPECT_EQ(stated.chunks, 1);
  }
}

TEST_F(GivenTopologyTest, MessagesShowWhichRanksMakeUpAPipeline) {
  addRanks(4);
  send(0, 2);
  send(1, 3);
  give({.pipelineRanks = 2, .replicas = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 1, 0, 1));
}

TEST_F(GivenTopologyTest, RankNumbersMayHaveGaps) {
  for (const int rank : {3, 5, 8, 13}) made_.add(rank, JobKind::kForward, 10, 20, 0);
  give({.pipelineRanks = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 1, 1));
}

TEST_F(GivenTopologyTest, ChunksThatJobsNameAreCounted) {
  addRanks(2);
  made_.add(1, JobKind::kForward, 20, 30, 0).chunk = 2;
  give({.pipelineRanks = 2});
  EXPECT_EQ(made_.timeline.ranks[0].numStages, 6);
  EXPECT_EQ(made_.timeline.ranks[1].numStages, 6);
}

TEST_F(GivenTopologyTest, AContradictionIsAnErrorThatNamesBoth) {
  addRanks(2);
  for (auto& [rank, info] : made_.timeline.ranks) {
    info.numStages = 4;
    info.numChunks = 2;
    info.dataParallelIndex = 0;
  }
  expectRefused({.pipelineRanks = 1, .chunks = 2}, "--pp 1 contradicts the logs, which say 2");
  expectRefused({.replicas = 2}, "--dp 2 contradicts the logs, which say 1");
  expectRefused({.chunks = 3}, "--vpp 3 contradicts the logs, which say 2");
  for (auto& [rank, info] : made_.timeline.ranks) info.pipelineRanks = "0/1";
  expectRefused({.pipelineRanks = 1}, "--pp 1 contradicts the groups of ranks in the input");
  give({.pipelineRanks = 2, .replicas = 1, .chunks = 2});
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(GivenTopologyTest, StagesThatPipelinesDoNotShareContradictTheOption) {
  addStages({0, 1, 2, 3});
  expectRefused({.pipelineRanks = 2},
                "--pp 2 contradicts the jobs: ranks 0 and 1 would be a pipeline with stages 0 and "
                "1, and ranks 2 and 3 one with stages 2 and 3");
}

TEST_F(GivenTopologyTest, OptionsThatDoNotFitTheRanksAreAnError) {
  addRanks(6);
  expectRefused({.pipelineRanks = 4}, "4 ranks per pipeline do not divide the 6 ranks");
  expectRefused({.replicas = 4}, "4 pipelines do not divide the 6 ranks");
  expectRefused({.pipelineRanks = 4, .replicas = 2}, "2 pipelines of 4 ranks are not the 6 ranks");
}

TEST_F(GivenTopologyTest, NumbersOfLogsOfWhichSomeAreMissingAreReportedAndNotUsed) {
  addRanks(3);
  for (auto& [rank, info] : made_.timeline.ranks) {
    info.numStages = 2;
    info.numChunks = 1;
    info.worldSize = 4;
  }
  give({.chunks = 1});
  EXPECT_THAT(replicas(), ElementsAre(-1, -1, -1));
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("the 3 ranks of the input, as the logs say; that "
                                                "is not used")));
}

TEST_F(GivenTopologyTest, RanksOfOneStageAreInDifferentPipelines) {
  addStages({0, 0, 1, 1});
  give({.pipelineRanks = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 1, 0, 1));
}

TEST_F(GivenTopologyTest, OnlyComputeJobsShowTheStageOfARank) {
  addStages({0, 0, 1, 1});
  made_.add(2, JobKind::kOptimizer, 30, 40, 0).stage = 0;
  made_.add(3, JobKind::kForward, 20, 30, 0).stage = kNotGiven;
  give({.pipelineRanks = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 1, 0, 1));
}

TEST_F(GivenTopologyTest, TensorParallelPeersInARowShareADataParallelIndex) {
  addRanks(8);
  give({.pipelineRanks = 2, .tensorRanks = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(tensorIndices(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  const Topology topology = topologyOf(made_.timeline);
  EXPECT_EQ(topology.tensorRanks, 2);
  EXPECT_FALSE(topology.inferred);
  EXPECT_THAT(topology.replicas(),
              ElementsAre(Pair(0, ElementsAre(0, 2)), Pair(1, ElementsAre(1, 3)),
                          Pair(2, ElementsAre(4, 6)), Pair(3, ElementsAre(5, 7))));
  EXPECT_EQ(topology.dataParallelIndex(3), 1);
  EXPECT_EQ(topology.tensorParallelIndex(3), 1);
  EXPECT_EQ(topology.places.at(7).position, 1);
  const StatedTopology stated = statedTopology(made_.timeline);
  EXPECT_EQ(stated.replicas, 2);
  EXPECT_EQ(stated.tensorRanks, 2);
}

TEST_F(GivenTopologyTest, StagesShowMegatronsOrderOfRanks) {
  addStages({0, 0, 0, 0, 1, 1, 1, 1});  // tp first, then dp, then pp
  give({.tensorRanks = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_THAT(tensorIndices(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_EQ(statedTopology(made_.timeline).pipelineRanks, 2);
}

TEST_F(GivenTopologyTest, MessagesShowThePipelinesOfTensorParallelPeers) {
  addRanks(8);
  for (int rank = 0; rank < 4; ++rank) send(rank, rank + 4);
  give({.tensorRanks = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_THAT(tensorIndices(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(GivenTopologyTest, PipelinesThatTheLogsNumberAreDividedAmongTensorParallelPeers) {
  addStages({0, 0, 0, 0, 1, 1, 1, 1});
  for (auto& [rank, info] : made_.timeline.ranks) {
    info.numStages = 2;
    info.numChunks = 1;
    info.dataParallelIndex = rank % 4;
  }
  give({.replicas = 2, .tensorRanks = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_THAT(tensorIndices(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(GivenTopologyTest, ReplicasThatTheLogsNumberStayAndTheirRanksBecomePeers) {
  addStages({0, 0, 1, 1, 0, 0, 1, 1});
  for (auto& [rank, info] : made_.timeline.ranks) {
    info.worldSize = 8;
    info.numStages = 2;
    info.numChunks = 1;
    info.dataParallelIndex = rank / 4;
  }
  give({.tensorRanks = 2});
  EXPECT_THAT(replicas(), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(tensorIndices(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(GivenTopologyTest, TensorParallelIndicesOfTheLogsGoFirst) {
  addRanks(4);
  for (auto& [rank, info] : made_.timeline.ranks) {
    info.dataParallelIndex = 0;
    info.tensorParallelIndex = rank / 2;
  }
  expectRefused({.pipelineRanks = 2, .tensorRanks = 4}, "--tp 4 contradicts the logs, which say 2");
  give({.pipelineRanks = 2});
  EXPECT_THAT(tensorIndices(), ElementsAre(0, 0, 1, 1));
}

TEST_F(GivenTopologyTest, TensorParallelRanksThatDoNotFitAreAnError) {
  addRanks(6);
  expectRefused({.pipelineRanks = 2, .tensorRanks = 2},
                "2 ranks per pipeline times 2 tensor-parallel ranks do not divide the 6 ranks of "
                "the input; correct --pp, --dp or --tp");
  expectRefused({.tensorRanks = 4}, "4 tensor-parallel ranks do not divide the 6 ranks");
}

TEST_F(GivenTopologyTest, MetricsCountEachPipelineByItself) {
  addRanks(4);
  made_.add(3, JobKind::kForward, 30, 40, 0);
  give({.pipelineRanks = 2, .replicas = 2, .chunks = 1});
  completeTimeline(made_.timeline, diagnostics_);
  const RunSummary summary = summarize(made_.timeline);
  EXPECT_FALSE(summary.topologyInferred);
  ASSERT_THAT(summary.steps, SizeIs(2));
  EXPECT_EQ(summary.steps[0].window(), 10);
  EXPECT_EQ(summary.steps[1].window(), 30);
  EXPECT_EQ(made_.timeline.findTrack(3, kComputeLane)->events[0].stage, 1);
  EXPECT_THAT(reported(), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
