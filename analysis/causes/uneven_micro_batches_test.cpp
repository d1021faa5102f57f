#include "analysis/causes/unsteady_jobs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/present/run_report.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/hand_made_timeline.h"
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
using testing::StartsWith;

constexpr Nanoseconds kMillisecond = kNsPerMs;
constexpr int kUnevenSteps = 5;

UnevenMicroBatches lengthsOf(Timeline& timeline, int threads = 1) {
  timeline.sort();
  return {JobGraph(timeline, topologyOf(timeline)), CountedSteps(), threads};
}

// Over the means 20 and 20 of their step, forwards are off by −0.5, 0, 0.5 and backwards by
// 0, −0.5, 0.5. So the sum of products is 0.25, and both sums of squares are 0.5.
TEST(UnevenMicroBatches, CorrelateForwardsAndBackwardsOfAStageByHand) {
  HandMadeTimeline made;
  const auto add = [&](JobKind kind, int begin, int length, int microBatch) {
    made.add(0, kind, begin, begin + length, 0, microBatch).stage = 0;
  };
  const int forwards[] = {10, 20, 30};
  const int backwards[] = {20, 10, 30};
  for (int m = 0; m < 3; ++m) {
    add(JobKind::kForward, 100 * m, forwards[m], m);
    add(JobKind::kBackward, 400 + 100 * m, backwards[m], m);
  }
  const UnevenMicroBatches lengths = lengthsOf(made.timeline);
  const UnevenMicroBatches::Stage& stage = lengths.stages().at(0);
  EXPECT_EQ(stage.pairs, 3U);
  EXPECT_DOUBLE_EQ(stage.correlation, 0.5);
  EXPECT_DOUBLE_EQ(stage.variation, std::sqrt(0.5 / 3));
  EXPECT_DOUBLE_EQ(stage.longest, 1.5);
  EXPECT_FALSE(stage.isUneven()) << "too few, and they do not go together";
}

/// Four ranks, eight micro-batches. `longer(kind, stage, micro-batch, step)`: in ms, of a forward
/// of 10 ms and a backward of 20 ms.
template <typename Longer>
Timeline unevenRun(const Longer& longer, const char* schedule = "1F1B", double transferMs = 0.1) {
  const auto faults = [&](const Plan& plan) {
    std::vector<Faults::Job> jobs;
    for (int step = 0; step < kUnevenSteps; ++step) {
      for (const std::vector<Action>& row : plan.ranks) {
        for (const Action& action : row) {
          const double ms = longer(action.kind, action.stage, action.microBatch, step);
          if (ms > 0) jobs.push_back({action, step, std::llround(ms * kMillisecond), 0});
        }
      }
    }
    return jobs;
  };
  return runOfFaults(faults, kUnevenSteps, schedule, transferMs);
}

/// How much longer a micro-batch is, 0 to 1.5: any, but the same every time.
double shareOf(int microBatch, int step) {
  std::mt19937 random(static_cast<unsigned>(100 * step + microBatch));
  return static_cast<double>(random() % 150) / 100;
}

double byLength(JobKind kind, int, int microBatch, int step) {
  const bool isForward = kind == JobKind::kForward;
  const bool isWhole = kind == JobKind::kBackward;
  return (isForward ? 10 : isWhole ? 20 : 10) * shareOf(microBatch, step);
}

TEST(UnevenMicroBatches, AreTheFindingWhereLongForwardsHaveLongBackwards) {
  for (const char* schedule : {"1F1B", "ZB-H1", "FThenB"}) {
    EXPECT_THAT(sentencesOf(unevenRun(byLength, schedule)),
                AllOf(Contains(StartsWith("micro-batches are of uneven length: on stages 0 to 3 "
                                          "those with long forwards have long backwards "
                                          "(correlation 1.00), up to 1.")),
                      Not(Contains(HasSubstr("now and then take longer")))))
        << schedule;
  }
}

TEST(UnevenMicroBatches, AreSeenInTheMeanOfStagesWhereJobsVaryAsMuchByThemselves) {
  std::mt19937 random(11);  // NOLINT: the same run every time
  const auto both = [&](JobKind kind, int stage, int microBatch, int step) {
    const double byItself = static_cast<double>(random() % 100) / 100;
    return byLength(kind, stage, microBatch, step) +
           (kind == JobKind::kForward ? 10 : 20) * byItself;
  };
  Timeline run = unevenRun(both);
  const UnevenMicroBatches lengths = lengthsOf(run);
  for (const auto& [number, stage] : lengths.stages()) {
    EXPECT_LT(stage.correlation, UnevenMicroBatches::kCorrelated) << number;
  }
  EXPECT_THAT(lengths.uneven(), ElementsAre(0, 1, 2, 3));
  EXPECT_GE(lengths.correlation(), UnevenMicroBatches::kCorrelated);
}

TEST(UnevenMicroBatches, AreAdvisedToBeBalancedByTokensAndHaveTheirFigures) {
  const Timeline run = unevenRun(byLength);
  const auto explanation = explainRun(run, {});
  const auto finding = std::find_if(
      explanation.findings.begin(), explanation.findings.end(),
      [](const Finding& each) { return each.kind == FindingKind::kUnevenMicroBatches; });
  ASSERT_NE(finding, explanation.findings.end());
  EXPECT_THAT(remedyText(*finding), HasSubstr("balance micro-batches by tokens"));
  EXPECT_EQ(finding->bubbleClass, BubbleClass::kPeerWait);
  EXPECT_GT(finding->time, 0);
  EXPECT_THAT(finding->factsOf<UnevenMicroBatches>()->uneven(), ElementsAre(0, 1, 2, 3));
  const auto json = nlohmann::json::parse(runReportJson({explanation, Diagnostics()}));
  bool isThere = false;
  for (const auto& each : json.at("findings")) {
    if (!each.at("evidence").contains("micro_batches")) continue;
    isThere = true;
    const auto& figures = each.at("evidence").at("micro_batches");
    EXPECT_EQ(figures.at("stages"), nlohmann::json::parse("[0, 1, 2, 3]"));
    EXPECT_EQ(figures.at("by_stage").size(), 4U);
    EXPECT_EQ(figures.at("by_stage")[1].at("pairs"), 8 * kUnevenSteps);
  }
  EXPECT_TRUE(isThere);
}

TEST(UnevenMicroBatches, AreNoFindingWhereJobsVaryByThemselves) {
  std::mt19937 random(7);  // NOLINT: the same run every time
  const auto any = [&](JobKind, int, int, int) { return static_cast<double>(random() % 15); };
  Timeline run = unevenRun(any);
  EXPECT_THAT(lengthsOf(run).uneven(), IsEmpty());
  EXPECT_THAT(sentencesOf(run), Contains(HasSubstr("jobs vary by chance")));
}

TEST(UnevenMicroBatches, AreNoFindingWhereARankIsSlowInSomeSteps) {
  const auto slow = [](JobKind kind, int stage, int, int step) {
    return stage == 1 && step >= 2 ? (kind == JobKind::kForward ? 5.0 : 10.0) : 0.0;
  };
  Timeline run = unevenRun(slow);
  EXPECT_EQ(lengthsOf(run).stages().at(1).correlation, 0) << "all are alike in each step";
  EXPECT_THAT(lengthsOf(run).uneven(), IsEmpty());
}

TEST(UnevenMicroBatches, AreEvenWhereTheyDifferByLessThanATwentiethPart) {
  const auto little = [](JobKind kind, int stage, int microBatch, int step) {
    return byLength(kind, stage, microBatch, step) / 25;
  };
  Timeline run = unevenRun(little);
  const UnevenMicroBatches lengths = lengthsOf(run);
  EXPECT_GT(lengths.stages().at(0).correlation, 0.99);
  EXPECT_LT(lengths.stages().at(0).variation, UnevenMicroBatches::kVariation);
  EXPECT_THAT(lengths.uneven(), IsEmpty());
}

TEST(UnevenMicroBatches, AreThoseOfHalfOfTheStagesAtLeast) {
  const auto onStages = [](int count) {
    return [count](JobKind kind, int stage, int microBatch, int step) {
      return stage < count ? byLength(kind, stage, microBatch, step) : 0;
    };
  };
  Timeline one = unevenRun(onStages(1));
  EXPECT_TRUE(lengthsOf(one).stages().at(0).isUneven());
  EXPECT_THAT(lengthsOf(one).uneven(), IsEmpty());
  Timeline two = unevenRun(onStages(2));
  EXPECT_THAT(lengthsOf(two).uneven(), ElementsAre(0, 1));
  EXPECT_TRUE(lengthsOf(two).isShownBy(1));
  EXPECT_FALSE(lengthsOf(two).isShownBy(2));
}

TEST(UnevenMicroBatches, AreTheSameOnAnyNumberOfThreads) {
  Timeline run = unevenRun(byLength);
  const UnevenMicroBatches one = lengthsOf(run);
  const UnevenMicroBatches three = lengthsOf(run, 3);
  for (const auto& [number, stage] : one.stages()) {
    EXPECT_EQ(stage.correlation, three.stages().at(number).correlation);
    EXPECT_EQ(stage.variation, three.stages().at(number).variation);
  }
}

}  // namespace
}  // namespace pipetrace
