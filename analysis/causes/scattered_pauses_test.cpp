#include "analysis/causes/unsteady_jobs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/present/run_report.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/sentences_of.h"

namespace pipetrace {
namespace {

using test::runOfFaults;
using test::sentencesOf;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr int kPausedSteps = 13;

struct PlannedPause {
  int rank = 0;
  int step = 0;
  Nanoseconds length = 40 * kNsPerMs;
  bool isLate = false;  ///< the job begins as much later, else it takes as much longer
};

/// 1F1B on four ranks, eight micro-batches, forwards of 10 ms. A pause is in forward 1 + rank.
Timeline pausedRun(const std::vector<PlannedPause>& pauses) {
  const auto faults = [&](const Plan&) {
    std::vector<Faults::Job> jobs;
    for (const PlannedPause& pause : pauses) {
      const Action job{JobKind::kForward, pause.rank, 1 + pause.rank};
      const Nanoseconds longer = pause.isLate ? 0 : pause.length;
      jobs.push_back({job, pause.step, longer, pause.length - longer});
    }
    return jobs;
  };
  return runOfFaults(faults, kPausedSteps);
}

/// Each rank pauses in every fourth step, after the one before it.
std::vector<PlannedPause> inTurns(bool isLate = false) {
  std::vector<PlannedPause> pauses;
  for (int step = 1; step < kPausedSteps; ++step) {
    pauses.push_back({.rank = step % 4, .step = step, .isLate = isLate});
  }
  return pauses;
}

ScatteredPauses pausesOf(const Timeline& run, int threads = 1) {
  const JobGraph graph(run, topologyOf(run));
  const CountedSteps counted;
  const MedianDurations times(graph, 1, counted);
  return {graph, times, counted, UnevenMicroBatches(graph, counted), threads};
}

TEST(ScatteredPauses, AreOneFindingOfAllRanksThatCollectGarbageInTurns) {
  const std::vector<std::string> texts = sentencesOf(pausedRun(inTurns()));
  EXPECT_THAT(texts, Contains(StartsWith("ranks 0 to 3 pause at different steps, as for a garbage "
                                         "collection: 12 times in 12 steps, for 40.00 ms in the "
                                         "median: waiting for them costs ")));
  EXPECT_THAT(texts, AllOf(Not(Contains(HasSubstr("now and then take longer"))),
                           Not(Contains(HasSubstr("takes longer than")))));
}

TEST(ScatteredPauses, AreTheSameFindingWhereHostsLaunchLate) {
  const Timeline run = pausedRun(inTurns(true));
  EXPECT_THAT(sentencesOf(run), Contains(StartsWith("ranks 0 to 3 pause at different steps")));
  EXPECT_EQ(pausesOf(run).median(), 40 * kNsPerMs);
}

TEST(ScatteredPauses, AreFoundBesideUnevenMicroBatchesWhereJobsBeginLate) {
  const auto faults = [&](const Plan&) {
    std::vector<Faults::Job> jobs;
    for (int step = 0; step < kPausedSteps; ++step) {
      for (int batch = 0; batch < 8; ++batch) {
        const Nanoseconds longer = (5 * batch + 3 * step) % 8 * kNsPerMs;
        for (int stage = 0; stage < 4; ++stage) {
          jobs.push_back({{JobKind::kForward, stage, batch}, step, longer});
          jobs.push_back({{JobKind::kBackward, stage, batch}, step, 2 * longer});
        }
      }
    }
    for (const PlannedPause& pause : inTurns()) {
      jobs.push_back(
          {{JobKind::kForward, pause.rank, 1 + pause.rank}, pause.step, 0, pause.length});
    }
    return jobs;
  };
  EXPECT_THAT(sentencesOf(runOfFaults(faults, kPausedSteps)),
              AllOf(Contains(StartsWith("micro-batches are of uneven length")),
                    Contains(StartsWith("ranks 0 to 3 pause at different steps"))));
}

TEST(ScatteredPauses, AreAdvisedToBeAtOneStepAndHaveTheirFigures) {
  const Timeline run = pausedRun(inTurns());
  const auto explanation = explainRun(run, {});
  const auto finding =
      std::find_if(explanation.findings.begin(), explanation.findings.end(),
                   [](const Finding& each) { return each.kind == FindingKind::kScatteredPauses; });
  ASSERT_NE(finding, explanation.findings.end());
  EXPECT_THAT(remedyText(*finding), HasSubstr("at the same step: gc.disable()"));
  EXPECT_THAT(finding->factsOf<ScatteredPauses>()->ranks(), ElementsAre(0, 1, 2, 3));
  const auto json = nlohmann::json::parse(runReportJson({explanation, Diagnostics()}));
  const auto& list = json.at("findings");
  EXPECT_TRUE(std::any_of(list.begin(), list.end(), [](const auto& each) {
    const auto& evidence = each.at("evidence");
    return evidence.contains("scattered_pauses") &&
           evidence.at("scattered_pauses").at("count") == 12 &&
           evidence.at("scattered_pauses").at("steps") == 12 &&
           evidence.at("scattered_pauses").at("median_ns") == 40 * kNsPerMs;
  }));
}

TEST(ScatteredPauses, AreNoFindingWhereAllRanksPauseInTheSameSteps) {
  std::vector<PlannedPause> pauses;
  for (const int step : {2, 6, 10}) {
    for (int rank = 0; rank < 4; ++rank) pauses.push_back({.rank = rank, .step = step});
  }
  EXPECT_THAT(pausesOf(pausedRun(pauses)).jobs(), IsEmpty());
}

TEST(ScatteredPauses, AreNotThoseOfOneRankAlone) {
  EXPECT_THAT(pausesOf(pausedRun({{1, 2}, {1, 4}, {1, 6}, {1, 8}, {1, 10}})).jobs(), IsEmpty());
}

TEST(ScatteredPauses, AreAtLeastThreeOfThreeRanksOrFourOfTwoAndAboutAsLong) {
  EXPECT_THAT(pausesOf(pausedRun({{0, 2}, {1, 4}, {2, 6}})).jobs(), SizeIs(3));
  EXPECT_THAT(pausesOf(pausedRun({{0, 2}, {1, 4}, {0, 6}})).jobs(), IsEmpty());
  EXPECT_THAT(pausesOf(pausedRun({{0, 2}, {1, 4}, {0, 6}, {1, 8}})).jobs(), SizeIs(4));
  const ScatteredPauses four = pausesOf(pausedRun({{0, 2}, {1, 4}, {2, 6}, {3, 8}}));
  EXPECT_EQ(four.count(), 4U);
  EXPECT_EQ(four.jobs().size(), 4U);
  EXPECT_THAT(pausesOf(pausedRun({{0, 2, 10 * kNsPerMs},
                                  {1, 4, 25 * kNsPerMs},
                                  {2, 6, 60 * kNsPerMs},
                                  {3, 8, 150 * kNsPerMs}}))
                  .jobs(),
              IsEmpty())
      << "these have different causes";
}

TEST(ScatteredPauses, AreNoneOfARankThatIsUnsteadyInMostSteps) {
  std::vector<PlannedPause> pauses;
  for (int step = 0; step < kPausedSteps; ++step) {
    if (step % 3 != 0) pauses.push_back({.rank = 0, .step = step});
    if (step % 3 != 1) pauses.push_back({.rank = 2, .step = step});
  }
  EXPECT_THAT(pausesOf(pausedRun(pauses)).jobs(), IsEmpty());
}

TEST(ScatteredPauses, AreTheSameOnAnyNumberOfThreads) {
  const Timeline run = pausedRun(inTurns());
  EXPECT_EQ(pausesOf(run).jobs(), pausesOf(run, 3).jobs());
}

}  // namespace
}  // namespace pipetrace
