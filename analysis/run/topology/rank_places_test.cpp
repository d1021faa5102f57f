// Where ranks without logs leave the others in their pipeline.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "analysis/testing/hand_made_timeline.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

/// The positions of two of the four ranks of the second pipeline, which have jobs of these stages.
std::pair<int, int> positionsOf(const std::vector<int>& first, const std::vector<int>& second) {
  HandMadeTimeline made;
  for (const auto& [rank, stages] : {std::pair(5, first), std::pair(7, second)}) {
    RankInfo& info = made.timeline.ranks[rank];
    info.worldSize = 8;
    info.numStages = 8;
    info.numChunks = 2;
    info.dataParallelIndex = 1;
    for (const int stage : stages) {
      made.add(rank, JobKind::kForward, 10 * stage, 10 * stage + 10, 0).stage = stage;
    }
  }
  const Topology topology = topologyOf(made.timeline);
  return {topology.places.at(5).position, topology.places.at(7).position};
}

TEST(RankPlaces, LoopsAndWavesOfStagesShowThem) {
  EXPECT_EQ(positionsOf({1, 5}, {3, 7}), std::pair(1, 3));
  EXPECT_EQ(positionsOf({1, 6}, {3, 4}), std::pair(1, 3));
}

TEST(RankPlaces, OtherStagesDoNotShowThem) {
  const std::pair nobodyKnows(-1, -1);
  EXPECT_EQ(positionsOf({0, 1}, {2, 3}), nobodyKnows) << "neighbours on one rank";
  EXPECT_EQ(positionsOf({1, 5}, {1, 5}), nobodyKnows) << "two ranks in one place";
  EXPECT_EQ(positionsOf({5}, {3, 7}), nobodyKnows) << "the lower stage has no job";
}

}  // namespace
}  // namespace pipetrace
