#pragma once

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/run/bubbles/bubbles.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "trace/topology.h"

namespace pipetrace::test {

/// Runs of one micro-batch, made by hand, with their bubbles.
class CollectivesInBubbles : public testing::Test {
 protected:
  Event& add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end,
             std::string_view lane = kComputeLane) {
    Event& event = made_.add(rank, kind, begin, end, 0, isCompute(kind) ? 0 : -1, lane);
    event.stage = isCompute(kind) ? stageOf_[rank] : kNotGiven;
    return event;
  }
  void addCollective(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end,
                     std::string_view name = {}) {
    Event& event = add(rank, kind, begin, end, "nccl");
    if (!name.empty()) event.name = made_.timeline.strings.intern(name);
  }
  /// Ranks of `replicas` pipelines, of `positions` each.
  void place(int replicas, int positions) {
    for (int rank = 0; rank < replicas * positions; ++rank) {
      RankInfo& info = made_.timeline.ranks[rank];
      info.dataParallelIndex = rank / positions;
      info.numStages = positions;
      info.worldSize = replicas * positions;
      stageOf_[rank] = rank % positions;
    }
  }
  void classify() {
    made_.timeline.sort();
    Diagnostics diagnostics;
    completeTimeline(made_.timeline, diagnostics);
    summary_ = summarize(made_.timeline);
    graph_ = std::make_unique<JobGraph>(made_.timeline, topologyOf(made_.timeline));
    basis_ = std::make_unique<RunBasis>(*graph_, summary_);
    bubbles_ = classifyBubbles(*basis_);
    for (std::uint32_t r = 0; r < bubbles_.byRank.size(); ++r) {
      Nanoseconds sum = 0;
      for (const Bubble& each : bubbles_.byRank[r]) sum += each.end - each.begin;
      EXPECT_EQ(sum, summary_.ranks[r].idle) << "rank " << r;
    }
  }
  /// The bubbles of a rank in order: class, begin, end, culprit's rank.
  std::vector<std::string> bubblesOf(std::uint32_t rank) const {
    std::vector<std::string> texts;
    for (const Bubble& each : bubbles_.byRank[rank]) {
      const JobGraph::Id culprit = each.culprit;
      std::string text{bubbleClassName(each.bubbleClass)};
      text += " " + std::to_string(each.begin) + "-" + std::to_string(each.end);
      if (culprit != JobGraph::kNone) {
        text += " by " + std::to_string(graph_->ranks()[graph_->node(culprit).rank].number);
      }
      texts.push_back(text);
    }
    return texts;
  }

  HandMadeTimeline made_;
  std::map<int, std::int32_t> stageOf_;
  RunSummary summary_;
  std::unique_ptr<JobGraph> graph_;
  std::unique_ptr<RunBasis> basis_;
  Bubbles bubbles_;
};

}  // namespace pipetrace::test
