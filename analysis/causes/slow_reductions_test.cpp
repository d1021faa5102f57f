#include "analysis/causes/slow_reductions.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum JobKind;

/// Two pipelines of three stages, two steps. A stage's replicas, ranks 2 s and 2 s + 1, sum their
/// gradients behind its job, for `moves` of the stage; the optimizer follows. `bytes` of the stage.
Timeline runOfSums(const std::vector<Nanoseconds>& moves, const std::vector<int>& bytes) {
  HandMadeTimeline made;
  for (int rank = 0; rank < 6; ++rank) {
    RankInfo& info = made.timeline.ranks[rank];
    info.dataParallelIndex = rank % 2;
    info.numStages = 3;
    info.worldSize = 6;
  }
  for (int step = 0; step < 2; ++step) {
    for (int rank = 0; rank < 6; ++rank) {
      const int stage = rank / 2;
      const Nanoseconds begin = step * 200 * kNsPerMs;
      made.add(rank, kForward, begin + 10 * stage * kNsPerMs, begin + 10 * (stage + 1) * kNsPerMs,
               step, 0)
          .stage = stage;
      const Nanoseconds end = begin + (90 - 20 * stage) * kNsPerMs;
      made.add(rank, kBackward, end - 20 * kNsPerMs, end, step, 0).stage = stage;
      const auto s = static_cast<std::size_t>(stage);
      Event& sum = made.add(rank, kAllReduce, end, end + moves[s], step, -1, "gradients");
      sum.stage = stage;
      if (bytes[s] > 0) {
        const Argument size = Argument::ofInteger(made.timeline.strings.intern("bytes"), bytes[s]);
        made.timeline.addArguments(sum, {&size, 1});
      }
      made.add(rank, kOptimizer, end + moves[s], end + moves[s] + kNsPerMs, step, 0);
    }
  }
  made.timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(made.timeline, diagnostics);
  return std::move(made.timeline);
}

std::vector<SlowReduction> slowOnesOf(const Timeline& timeline) {
  const auto run = asRun(timeline);
  return slowReductionsOf(timeline, run.graph(), {});
}

TEST(SlowReductions, AreThoseThatMoveSlowerForEachByte) {
  const Timeline run = runOfSums({8 * kNsPerMs, 40 * kNsPerMs, 8 * kNsPerMs}, {1000, 1000, 1000});
  const std::vector<SlowReduction> found = slowOnesOf(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].ranks, ElementsAre(2, 3));
  EXPECT_DOUBLE_EQ(found[0].factor, 5);
  EXPECT_EQ(found[0].moving, 40 * kNsPerMs);
  EXPECT_EQ(found[0].others, 8 * kNsPerMs);
  // Stage 0 ends its step at 90 + 8 + 1 ms, stage 1 at 70 + 40 + 1: 12 ms later than all others.
  EXPECT_EQ(found[0].time, 2 * (2 * 32 + 4 * 12) * kNsPerMs) << "two steps";
}

TEST(SlowReductions, AreNoneWhereAStageHasMoreWeights) {
  EXPECT_THAT(
      slowOnesOf(runOfSums({8 * kNsPerMs, 40 * kNsPerMs, 8 * kNsPerMs}, {1000, 5000, 1000})),
      IsEmpty());
  EXPECT_THAT(slowOnesOf(runOfSums({8 * kNsPerMs, 40 * kNsPerMs, 8 * kNsPerMs}, {1000, 0, 1000})),
              IsEmpty())
      << "nobody knows how many these are";
}

TEST(SlowReductions, ThatHaveNoSizesSayThatTheirStageMayHaveMoreWeights) {
  EXPECT_THAT(slowOnesOf(runOfSums({8 * kNsPerMs, 15 * kNsPerMs, 8 * kNsPerMs}, {0, 0, 0})),
              IsEmpty())
      << "weights may differ as much";
  const auto run =
      explainRun(runOfSums({8 * kNsPerMs, 40 * kNsPerMs, 8 * kNsPerMs}, {0, 0, 0}), {});
  const auto found = std::find_if(run.findings.begin(), run.findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::kSlowReduction;
  });
  ASSERT_NE(found, run.findings.end());
  EXPECT_THAT(whereaboutsOf(*found).ranks, ElementsAre(2, 3));
  EXPECT_THAT(findingText(*found), HasSubstr("nothing says how many bytes each has"));
  EXPECT_THAT(remedyText(*found), HasSubstr("times the weights of others"));
}

TEST(SlowReductions, AreAFindingWithTheirRanks) {
  const auto run =
      explainRun(runOfSums({8 * kNsPerMs, 40 * kNsPerMs, 8 * kNsPerMs}, {1000, 1000, 1000}), {});
  const auto found = std::find_if(run.findings.begin(), run.findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::kSlowReduction;
  });
  ASSERT_NE(found, run.findings.end());
  EXPECT_THAT(whereaboutsOf(*found).ranks, ElementsAre(2, 3));
  EXPECT_THAT(findingText(*found), HasSubstr("sums of gradients over ranks 2 and 3 move 5.00 times "
                                             "as long as those of other ranks"));
}

/// Stage 1 sums its gradients for 60 ms, until 30 ms after stage 0 has begun the next step.
/// So its first job there is 20 ms late, and all behind it are.
TEST(SlowReductions, ThatReachIntoTheNextStepAreWhatItsJobsWaitFor) {
  HandMadeTimeline made;
  constexpr Nanoseconds ms = kNsPerMs;
  for (int rank = 0; rank < 6; ++rank) {
    made.timeline.ranks[rank] = {.rank = rank, .worldSize = 6, .numStages = 3};
    made.timeline.ranks[rank].dataParallelIndex = rank % 2;
    const int stage = rank / 2;
    for (int step = 0; step < 2; ++step) {
      const Nanoseconds begin = 100 * step;
      const Nanoseconds late = step == 1 ? 20 : 0;  // from the first job of stage 1 on
      const Nanoseconds forward = begin + 10 * stage + (stage > 0 ? late : 0);
      const Nanoseconds end = begin + late + 90 - 20 * stage;
      made.add(rank, kForward, forward * ms, (forward + 10) * ms, step).stage = stage;
      made.add(rank, kBackward, (end - 20) * ms, end * ms, step).stage = stage;
      const Nanoseconds sum = end + (stage == 1 ? 59 : 8);
      made.add(rank, kAllReduce, end * ms, sum * ms, step, -1, "gradients").stage = stage;
      made.add(rank, kOptimizer, sum * ms, (sum + 1) * ms, step);
      made.add(rank, kLr, (sum + 1) * ms, (sum + 1) * ms, step + 1);
    }
  }
  made.timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(made.timeline, diagnostics);
  const auto run = explainRun(made.timeline, {});
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(rank.bubbles[static_cast<std::size_t>(BubbleClass::kUnknown)], 0) << rank.rank;
  }
  const ExplainedRank& last = run.ranks.back();
  EXPECT_GE(last.bubbles[static_cast<std::size_t>(BubbleClass::kSync)], 20 * ms);
}

}  // namespace
}  // namespace pipetrace
