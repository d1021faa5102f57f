#include "viewer/compare/job_twins.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "analysis/diff/measured_run.h"
#include "viewer/testing/compared_runs.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two runs, and the twins in a step of each.
struct Pair {
  std::shared_ptr<const LoadedProfile> a;
  std::shared_ptr<const LoadedProfile> b;
  JobTwins twins;

  Pair(const SimulatedRun& ofA, const SimulatedRun& ofB, std::size_t stepOfA = 1,
       std::size_t stepOfB = 1)
      : a(ofA.profile("a")),
        b(ofB.profile("b")),
        twins(sideOf(*a, stepOfA), sideOf(*b, stepOfB),
              comparisonOf(measureRun(a->run(), {}), measureRun(b->run(), {})), false) {}

  static StepOfRun sideOf(const LoadedProfile& run, std::size_t step) {
    const std::size_t last = run.model().steps().size() - 1;
    return {run.model(), run.run().topology(), run.model().steps()[std::min(step, last)]};
  }
  std::string differences() const {
    std::string text;
    for (const std::uint32_t i : twins.byDifference()) {
      const JobTwins::Twins& each = twins.twins()[i];
      const Event& job = *twins.jobsOf(each, WhichRun::kA).front().event;
      text += std::to_string(job.stage) + (job.kind == JobKind::kForward ? "F" : "B") +
              std::to_string(job.microBatch) + " " + std::to_string(each.difference() / 1'000'000) +
              ", ";
    }
    return text;
  }
};

Faults longer(int stage, JobKind kind, int microBatch, Nanoseconds by) {
  return {.links = {}, .jobs = {{.action = {kind, stage, microBatch}, .longer = by}}};
}

TEST(JobTwinsTest, JobsOfAStageMicroBatchAndKindAreTwinsInAnyTwoSteps) {
  for (const std::size_t stepOfB : {0, 2}) {
    const Pair pair({}, {.steps = 4}, 1, stepOfB);
    EXPECT_EQ(pair.twins.matchedCount(), 2U * 4 * 8 * 2);
    EXPECT_THAT(pair.twins.unmatched(), IsEmpty());
    EXPECT_THAT(pair.twins.byDifference(), IsEmpty());
    for (const JobTwins::Twins& each : pair.twins.twins()) {
      ASSERT_TRUE(each.isInBoth());
      const Event& a = *pair.twins.jobsOf(each, WhichRun::kA).front().event;
      const Event& b = *pair.twins.jobsOf(each, WhichRun::kB).front().event;
      EXPECT_EQ(std::tuple(a.stage, a.microBatch, a.kind),
                std::tuple(b.stage, b.microBatch, b.kind));
      EXPECT_EQ(a.step, 1);
      EXPECT_EQ(b.step, static_cast<std::int32_t>(stepOfB));
    }
  }
}

TEST(JobTwinsTest, TheLongestDifferenceComesFirstWhateverItsSign) {
  Faults faults = longer(2, JobKind::kForward, 5, 7 * kNsPerMs);
  faults.jobs.push_back({.action = {JobKind::kBackward, 1, 3}, .longer = -9 * kNsPerMs});
  faults.jobs.push_back({.action = {JobKind::kForward, 0, 0}, .longer = 2 * kNsPerMs});
  faults.jobs.push_back({.action = {JobKind::kForward, 0, 1}, .longer = 50'000});
  const Pair pair({}, {.faults = faults});
  EXPECT_EQ(pair.differences(), "1B3 -9, 2F5 7, 0F0 2, ") << "0F1 differs by half a hundredth";
  EXPECT_EQ(pair.twins.longestDifference(), 9 * kNsPerMs);
}

TEST(JobTwinsTest, TheTwinsOfAJobAreFoundFromBothSides) {
  const Pair pair({}, {.faults = longer(2, JobKind::kForward, 5, 7 * kNsPerMs)});
  const JobTwins::Twins& slow = pair.twins.twins()[pair.twins.byDifference().front()];
  for (const WhichRun run : {WhichRun::kA, WhichRun::kB}) {
    EXPECT_EQ(pair.twins.twinsOf(run, pair.twins.jobsOf(slow, run).front()), &slow);
  }
  const ChartRow& row = pair.a->model().rows()[0];
  EXPECT_EQ(pair.twins.twinsOf(WhichRun::kA, {0, &row.lanes[0][1]}), nullptr) << "of step 0";
  EXPECT_EQ(pair.twins.twinsOf(WhichRun::kA, {999, &row.lanes[0][1]}), nullptr);
}

TEST(JobTwinsTest, HalvesOfABackwardAreTogetherTheTwinOfAWholeOne) {
  const Pair pair({}, {.schedule = "ZBH1"});
  std::size_t backwards = 0;
  for (const JobTwins::Twins& each : pair.twins.twins()) {
    ASSERT_TRUE(each.isInBoth());
    if (pair.twins.jobsOf(each, WhichRun::kA).front().event->kind != JobKind::kBackward) continue;
    ++backwards;
    EXPECT_EQ(pair.twins.jobsOf(each, WhichRun::kB).size(), 2U);
    EXPECT_EQ(each.difference(), 0);
  }
  EXPECT_EQ(backwards, 4U * 8);
}

TEST(JobTwinsTest, OfOtherNumbersOfMicroBatchesThoseOfBothAreComparedAndTheRestIsNamed) {
  const Pair pair({.microBatches = 8}, {.microBatches = 12});
  EXPECT_EQ(pair.twins.matchedCount(), 2U * 4 * 8 * 2);
  EXPECT_THAT(pair.twins.unmatched(),
              ElementsAre("only B has 32 jobs of micro-batches 8 to 11 in this step"));
}

TEST(JobTwinsTest, ARankWithoutALogLeavesItsStageWithoutTwins) {
  const Pair pair({}, {.lacksRank = 3});
  EXPECT_EQ(pair.twins.matchedCount(), 2U * 3 * 8 * 2);
  EXPECT_THAT(pair.twins.unmatched(), ElementsAre("only A has 16 jobs of stage 3 in this step"));
}

TEST(JobTwinsTest, WhereRanksHaveOtherNumbersOfStagesJobsOfARankAreComparedTogether) {
  const Pair pair({}, {.schedule = "Interleaved1F1B", .chunks = 2});
  for (const JobTwins::Twins& each : pair.twins.twins()) {
    ASSERT_TRUE(each.isInBoth());
    EXPECT_EQ(pair.twins.jobsOf(each, WhichRun::kA).size(), 1U);
    EXPECT_EQ(pair.twins.jobsOf(each, WhichRun::kB).size(), 2U);
  }
}

TEST(JobTwinsTest, PipelinesOfOtherDepthsHaveNoTwins) {
  const Pair pair({}, {.ranks = 8});
  EXPECT_EQ(pair.twins.matchedCount(), 0U);
  EXPECT_THAT(pair.twins.unmatched(), ElementsAre(HasSubstr("stages of A and B are not the same")));
}

TEST(JobTwinsTest, JobsOfAsynchronousRunsAreComparedInTheirWholeWindow) {
  const Pair pair({.schedule = "PipeDream", .steps = 6},
                  {.schedule = "PipeDream",
                   .steps = 6,
                   .faults = longer(2, JobKind::kForward, 5, 7 * kNsPerMs)});
  EXPECT_GT(pair.twins.matchedCount(), 2U * 4 * 8 * 2 * 4) << "of most of the six steps";
  EXPECT_GE(pair.twins.byDifference().size(), 4U);
  EXPECT_THAT(pair.differences(), HasSubstr("2F5 7, 2F5 7, "));
}

TEST(JobTwinsTest, TheLargestDifferenceOfAnyJobsOfARowIsThatOfASearch) {
  std::mt19937 random(7);
  Faults faults;
  for (int i = 0; i < 60; ++i) {
    const int microBatch = static_cast<int>(random() % 200);
    faults.jobs.push_back({.action = {JobKind::kForward, 1, microBatch},
                           .longer = static_cast<Nanoseconds>(random() % 9'000'000)});
  }
  const Pair pair({.microBatches = 200, .steps = 2},
                  {.microBatches = 200, .steps = 2, .faults = faults});
  const auto& rows = pair.a->model().rows();
  const std::size_t row = static_cast<std::size_t>(
      std::find_if(rows.begin(), rows.end(),
                   [](const ChartRow& r) { return r.rank == 1 && r.isCompute; }) -
      rows.begin());
  const auto jobs = pair.twins.drawnIn(WhichRun::kA, row);
  ASSERT_EQ(jobs.size(), 400U);
  for (int i = 0; i < 300; ++i) {
    const std::size_t first = random() % jobs.size();
    const std::size_t last = first + random() % (jobs.size() - first) + 1;
    Nanoseconds largest = 0;
    for (std::size_t job = first; job < last; ++job) {
      largest = std::max(largest, pair.twins.twins()[jobs[job].twins].difference());
    }
    EXPECT_EQ(pair.twins.largestOf(WhichRun::kA, row, first, last), largest);
  }
}

}  // namespace
}  // namespace pipetrace
