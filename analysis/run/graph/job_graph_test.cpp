// Jobs, messages and collectives of small runs, and what each waited for.
#include "analysis/run/graph/job_graph.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/meetings_by_hand.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using enum JobKind;

/// Ranks of one stage each, in one step.
class JobGraphTest : public testing::Test {
 protected:
  using Id = JobGraph::Id;
  static constexpr Id kNone = JobGraph::kNone;

  Event& add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end,
             std::int32_t microBatch = 0, std::string_view lane = kComputeLane) {
    Event& event = made_.add(rank, kind, begin, end, 0, microBatch, lane);
    event.stage = isCompute(kind) || isTransfer(kind) ? rank : kNotGiven;
    return event;
  }
  JobGraph graph() {
    made_.timeline.sort();
    for (const Track& track : made_.timeline.tracks) {
      made_.timeline.ranks[track.rank].rank = track.rank;
    }
    Diagnostics diagnostics;
    completeTimeline(made_.timeline, diagnostics);
    return {made_.timeline, topologyOf(made_.timeline)};
  }

  HandMadeTimeline made_;
};

TEST_F(JobGraphTest, ACollectiveHoldsUpTheNextJobOfItsRankAndNoOther) {
  add(0, kForward, 0, 10);
  add(0, kAllReduce, 12, 15, -1, "nccl");
  add(0, kOptimizer, 16, 18);
  add(0, kAllGather, 19, 22, -1, "nccl");
  add(1, kForward, 25, 35);
  const JobGraph found = graph();
  ASSERT_EQ(found.jobCount(), 3U);
  const Id reduce = found.ranks()[0].firstCollective;
  EXPECT_EQ(found.node(reduce).before, 0U) << "the forward";
  EXPECT_EQ(found.node(1).collective, reduce);
  EXPECT_EQ(found.node(reduce + 1).before, 1U) << "the optimizer";
  EXPECT_EQ(found.node(2).collective, kNone) << "another rank's";
}

// DualPipe's two copies of a stage are in one pipeline, and on other chunks than replicas.
TEST_F(JobGraphTest, TheRanksThatALogNamesAreMembersOfACollective) {
  StringTable& strings = made_.timeline.strings;
  const auto reduce = [&](int rank, Nanoseconds begin, int stage, const char* members) {
    Event& event = add(rank, kAllReduce, begin, 50, -1, kReductionLane);
    event.stage = stage;
    event.chunk = static_cast<std::int16_t>(rank);
    const Argument argument = Argument::ofText(strings.intern("members"), strings.intern(members));
    made_.timeline.setArguments(event, {&argument, 1});
  };
  for (const int rank : {0, 1}) add(rank, kForward, 0, 10);
  reduce(0, 12, 0, "0 1");
  reduce(1, 30, 0, "0 1");
  reduce(0, 13, 1, "0 7");
  const JobGraph found = graph();
  const auto groupOf = [&](Id id) { return found.collective(id).group; };
  const Id first = found.ranks()[0].firstCollective;
  const Id second = found.ranks()[1].firstCollective;
  EXPECT_EQ(groupOf(first), groupOf(second));
  EXPECT_EQ(found.node(first).begin, 30) << "the last member";
  EXPECT_EQ(found.node(first).inputs[0], second);
  EXPECT_FALSE(found.node(first).lacksInput);
  EXPECT_NE(groupOf(first + 1), groupOf(first));
  EXPECT_TRUE(found.node(first + 1).lacksInput) << "there is no log of rank 7";
}

// The clock of rank 1 is 100 us ahead, so the sum seems to be over before rank 0 came to it.
TEST_F(JobGraphTest, MembersThatALogNamesMeetThoughTheirClocksAreALittleApart) {
  for (const Nanoseconds ahead : {100 * kNsPerUs, 2 * kNsPerMs}) {
    made_ = {};
    StringTable& strings = made_.timeline.strings;
    for (const int rank : {0, 1}) {
      add(rank, kForward, 0, 10);
      const Nanoseconds begin = rank == 0 ? 5 * kNsPerMs : 3 * kNsPerMs;
      const Nanoseconds end = 5 * kNsPerMs + 20 * kNsPerUs - (rank == 1 ? ahead : 0);
      Event& event = add(rank, kAllReduce, begin, end, -1, kReductionLane);
      const Argument argument = Argument::ofText(strings.intern("members"), strings.intern("0 1"));
      made_.timeline.setArguments(event, {&argument, 1});
    }
    const JobGraph found = graph();
    const Id first = found.ranks()[0].firstCollective;
    const Id second = found.ranks()[1].firstCollective;
    const bool areTogether = found.collective(first).group == found.collective(second).group;
    EXPECT_EQ(areTogether, ahead < kNsPerMs);
    EXPECT_LE(found.node(second).begin, found.node(second).end);
  }
}

/// Two positions without replicas. Each rank ends its own sum alone, and then one that both share.
TEST_F(JobGraphTest, CollectivesThatEndTogetherInAllStepsAreSharedByAllRanks) {
  for (const Nanoseconds apart : {20 * kNsPerUs, 300 * kNsPerUs}) {
    made_ = {};
    for (const int rank : {0, 1}) {
      for (const int step : {0, 1, 2}) {
        const Nanoseconds begin = step * 20 * kNsPerMs;
        const Nanoseconds own = begin + (rank == 0 ? 6 : 3) * kNsPerMs;
        made_.add(rank, kForward, begin, own, step, 0).stage = rank;
        made_.add(rank, kAllReduce, own, own + kNsPerMs, step, -1, kReductionLane);
        const Nanoseconds end = begin + 8 * kNsPerMs + rank * apart;
        made_.add(rank, kAllReduce, own + kNsPerMs, end, step, -1, kReductionLane);
      }
    }
    const JobGraph found = graph();
    const auto groupOf = [&](int rank, Id number) {
      return found
          .collective(found.ranks()[static_cast<std::size_t>(rank)].firstCollective + number)
          .group;
    };
    EXPECT_NE(groupOf(0, 0), groupOf(1, 0));
    EXPECT_EQ(groupOf(0, 1) == groupOf(1, 1), apart < 100 * kNsPerUs);
    EXPECT_EQ(groupOf(0, 5) == groupOf(1, 5), apart < 100 * kNsPerUs) << "the last of step 2";
  }
}

TEST_F(JobGraphTest, AMessageWaitsForTheOneBeforeItThatHadEndedOnItsLane) {
  add(0, kForward, 0, 10, 0);
  add(0, kForward, 10, 20, 1);
  add(0, kForward, 20, 30, 2);
  add(0, kSendForward, 10, 24, 0, kSendLane).peer = 1;
  add(0, kSendForward, 22, 32, 1, kSendLane).peer = 1;  // the first is still under way
  add(0, kSendForward, 33, 36, 2, kSendLane).peer = 1;
  add(1, kForward, 24, 34, 0);
  add(1, kForward, 34, 44, 1);
  add(1, kForward, 44, 54, 2);
  const JobGraph found = graph();
  const auto first = static_cast<Id>(found.jobCount());
  ASSERT_EQ(found.messageEnd() - first, 3U);
  const auto messageOf = [&](std::int32_t microBatch) {
    Id id = first;
    while (found.node(id).microBatch != microBatch) ++id;
    return id;
  };
  EXPECT_EQ(found.node(messageOf(0)).inputs[0], 0U);
  EXPECT_NE(found.node(messageOf(1)).before, messageOf(0));
  EXPECT_EQ(found.node(messageOf(2)).before, messageOf(1));
  EXPECT_EQ(found.node(messageOf(2)).kind, kSendForward) << "its receive is not logged";
  EXPECT_EQ(found.node(found.jobCount() - 1).inputs[0], messageOf(2));
  EXPECT_EQ(found.producer(static_cast<Id>(found.jobCount() - 1), 0), 2U);
}

TEST_F(JobGraphTest, AMessageWhoseReceiveWasPostedLastWaitsForTheJobBeforeThat) {
  for (const bool isPostedLast : {true, false}) {
    made_ = {};
    add(0, kForward, 0, 10, 0);
    add(0, kSendForward, isPostedLast ? 12 : 25, 35, 0, kSendLane).peer = 1;
    add(1, kRecvForward, 22, 35, 0, kRecvLane).peer = 0;
    add(1, kData, 0, 20, -1);
    add(1, kForward, 35, 45, 0);
    const JobGraph found = graph();
    ASSERT_EQ(found.messageEnd() - found.jobCount(), 1U);
    const JobGraph::Node& message = found.node(static_cast<Id>(found.jobCount()));
    EXPECT_EQ(message.begin, isPostedLast ? 22 : 25);
    EXPECT_EQ(message.before, isPostedLast ? found.ranks()[1].first : kNone);
  }
}

TEST_F(JobGraphTest, MessagesThatCameEarlyHoldNothingUp) {
  for (const char* arrived : {"early", "in time"}) {
    made_ = {};
    StringTable& strings = made_.timeline.strings;
    add(0, kForward, 0, 10, 0);
    add(1, kForward, 35, 45, 0);
    Event& receive = add(1, kRecvForward, 12, 35, 0, kRecvLane);
    receive.peer = 0;
    const Argument arguments[] = {
        Argument::ofText(strings.intern("note"), strings.intern("early")),
        Argument::ofText(strings.intern(message_arguments::kArrived), strings.intern(arrived))};
    strings.intern(message_arguments::kEarly);
    made_.timeline.setArguments(receive, arguments);
    const JobGraph found = graph();
    EXPECT_EQ(found.messageEnd() - found.jobCount(), arrived == std::string("early") ? 0U : 1U);
  }
}

TEST_F(JobGraphTest, RunsWithNumbersPerRankAreKnownByThoseWhateverElseJobsHave) {
  for (const bool isNumbered : {true, false}) {
    made_ = {};
    StringTable& strings = made_.timeline.strings;
    Event& job = add(0, kForward, 0, 10, 0);
    const auto ofNumber = [&](const char* key) {
      return Argument::ofInteger(strings.intern(key), 1);
    };
    strings.intern("seq_id");
    const Argument arguments[] = {ofNumber("bytes"), ofNumber(isNumbered ? "seq_id" : "layers")};
    made_.timeline.setArguments(job, arguments);
    EXPECT_EQ(graph().isNumbered(), isNumbered);
  }
}

TEST_F(JobGraphTest, ClocksAreThoseOfHostsAndAsExactAsTheWorstComparisonWithTheFirst) {
  for (const int rank : {0, 1, 2, 3}) add(rank, kForward, 10 * rank, 10 * rank + 10);
  made_.timeline.sort();
  auto& ranks = made_.timeline.ranks;  // nobody knows where rank 0 ran
  ranks[1].host = ranks[3].host = "a";
  ranks[1].clockReadings = {{.offset = 0, .bound = 5},
                            {.offset = 0, .bound = 7},
                            {.offset = 0, .bound = 6},
                            {.offset = 1, .bound = 90}};
  const JobGraph found(made_.timeline, topologyOf(made_.timeline));
  ASSERT_EQ(found.ranks().size(), 4U);
  EXPECT_EQ(found.ranks()[1].clock, found.ranks()[3].clock);
  EXPECT_NE(found.ranks()[0].clock, found.ranks()[1].clock);
  EXPECT_NE(found.ranks()[0].clock, found.ranks()[2].clock);
  EXPECT_EQ(found.ranks()[0].clockBound, 0);
  EXPECT_EQ(found.ranks()[1].clockBound, 7);
  EXPECT_EQ(found.ranks()[3].clockBound, 0);
}

/// Rank 1 receives both forwards of rank 0 on one stream. The data of the second is there at
/// `madeAt`; the receive of the first is over at 22.
Timeline receivesOnOneStream(HandMadeTimeline& made, Nanoseconds madeAt) {
  const auto job = [&](int rank, int microBatch, Nanoseconds begin, Nanoseconds end) {
    made.add(rank, kForward, begin * kNsPerUs, end * kNsPerUs, 0, microBatch).stage = rank;
  };
  job(0, 0, 0, 10);
  job(0, 1, 10, madeAt);
  job(1, 0, 22, 23);
  job(1, 1, 40, 50);
  const auto receive = [&](int microBatch, Nanoseconds begin, Nanoseconds end) {
    Event& event =
        made.add(1, kRecvForward, begin * kNsPerUs, end * kNsPerUs, 0, microBatch, kRecvLane);
    event.stage = 1;
    event.peer = 0;
    const Argument stream = Argument::ofInteger(made.timeline.strings.intern("stream"), 20);
    made.timeline.setArguments(event, {&stream, 1});
  };
  receive(0, 5, 22);
  receive(1, 22, 40);
  return made.timeline;
}

TEST_F(JobGraphTest, LinesAreHeldWhereAMessageHadItsDataBeforeTheOneInFrontWasOver) {
  for (const Nanoseconds madeAt : {18, 22, 30}) {
    made_ = {};
    receivesOnOneStream(made_, madeAt);
    const JobGraph found = graph();
    ASSERT_TRUE(found.hasLines());
    EXPECT_EQ(found.areLinesHeld(), madeAt == 18) << madeAt;
  }
}

// Gradients are summed beside the jobs that follow.
TEST(JobGraphOfReplicas, ASumOfGradientsHoldsUpTheOptimizerAndNoJobThatItIsLeftBehindBy) {
  for (const std::string use : {"data-parallel", "tensor-parallel"}) {
    MeetingsByHand made;
    for (const int rank : {0, 1}) {
      made.timeline.ranks[rank].tensorParallelIndex = kNotGiven;
      made.timeline.ranks[rank].dataParallelIndex = rank;
      made.job(rank, 0, 100, 0, 0, kBackward);
      made.kernel(rank, 0, 100);
      made.meet(rank, 100, 160, {.use = use, .kind = kReduceScatter});
      made.job(rank, 200, 300, 1, 0, kBackward);
      made.kernel(rank, 200, 300);
      made.meet(rank, 300, 360, {.use = use, .kind = kReduceScatter});
      made.job(rank, 400, 410, kNotGiven, 0, kOptimizer).stage = kNotGiven;
    }
    const JobGraph found = made.graph();
    const JobGraph::Id first = found.ranks()[0].firstCollective;
    ASSERT_EQ(found.ranks()[0].endOfCollectives, first + 2);
    const bool isOfReplicas = use == "data-parallel";
    EXPECT_EQ(found.collective(first).isLeftBehind, isOfReplicas);
    EXPECT_EQ(found.node(1).collective, isOfReplicas ? JobGraph::kNone : first) << "a backward";
    EXPECT_EQ(found.node(2).collective, first + 1) << "the optimizer";
  }
}

// Gloo's sums name no members. One that ends while its rank does nothing ends so by chance, where
// others run beside jobs.
TEST_F(JobGraphTest, ASumHoldsUpNoJobWhereOthersOfItsNameRunBesideJobs) {
  for (const Nanoseconds secondJob : {110, 160}) {
    made_ = {};
    const auto sum = [&](Nanoseconds begin, Nanoseconds end) {
      add(0, kAllReduce, begin, end, -1, "gloo").name =
          made_.timeline.strings.intern("gloo:all_reduce");
    };
    add(0, kBackward, 0, 100, 0);
    sum(100, 150);
    add(0, kBackward, secondJob, 200, 1);
    sum(200, 290);
    add(0, kBackward, 300, 400, 2);
    sum(400, 450);
    add(0, kOptimizer, 460, 470).microBatch = kNotGiven;
    const JobGraph found = graph();
    const Id first = found.ranks()[0].firstCollective;
    const bool isBeside = secondJob < 150;
    EXPECT_EQ(found.node(2).collective, isBeside ? kNone : first + 1) << "the last backward";
    EXPECT_EQ(found.node(3).collective, first + 2) << "the optimizer";
  }
}

// Behind a forward it may be what the next job begins with, as a mean of losses.
TEST_F(JobGraphTest, ASumBehindAForwardHoldsUpTheNextJobWhateverRunsBesideOthers) {
  const auto sum = [&](Nanoseconds begin, Nanoseconds end) {
    add(0, kAllReduce, begin, end, -1, "gloo").name =
        made_.timeline.strings.intern("gloo:all_reduce");
  };
  add(0, kForward, 0, 100, 0);
  sum(100, 150);
  add(0, kBackward, 160, 200, 0);
  sum(200, 290);
  add(0, kBackward, 210, 400, 1);
  const JobGraph found = graph();
  EXPECT_EQ(found.node(1).collective, found.ranks()[0].firstCollective);
}

}  // namespace
}  // namespace pipetrace
