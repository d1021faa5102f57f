// Pipelines whose stages several ranks share, with known answers (../shared/data/README.md): who
// holds up whom inside jobs, what the report blames, and what a repair brings. The figures are
// those of the README and of the programs that made the runs.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analysis/causes/inside_times.h"
#include "analysis/causes/peers.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/run/steps/counted_steps.h"
#include "analysis/run/topology/group_places.h"
#include "analysis/testing/explained_run.h"
#include "analysis/what_if/run_again.h"
#include "parser/testing/load_timeline.h"
#include "schedule/scale/scale_option.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class HybridData : public testing::Test {
 protected:
  static fs::path folder(const std::string& name) {
    return fs::path(test::inSources("../shared/data")) / name;
  }

  void SetUp() override {
    for (const char* const name : {"hybrid/clean", "real_hybrid/t_itp"}) {
      if (!fs::exists(folder(name))) GTEST_SKIP() << folder(name) << " is not there";
    }
  }

  static ExplainedRun explained(const std::string& name) {
    Diagnostics diagnostics;
    Timeline timeline = test::loadTimeline({folder(name).string()}, {.threads = 1}, diagnostics);
    placeByGroups(timeline, diagnostics);
    completeTimeline(timeline, diagnostics);
    return explainRun(std::move(timeline), {});
  }

  static double inMs(Nanoseconds time) { return static_cast<double>(time) / 1e6; }

  /// Of each rank, ms a step.
  static std::vector<double> waitsOf(const ExplainedRun& run) {
    std::vector<double> waits;
    for (const InsideTimes& each : insideTimesOf(run.own->graph(), {})) {
      waits.push_back(inMs(each.parts.waiting) / static_cast<double>(each.steps));
    }
    return waits;
  }

  static void expectWaits(const ExplainedRun& run, const std::vector<double>& known) {
    const std::vector<double> waits = waitsOf(run);
    ASSERT_EQ(waits.size(), known.size());
    for (std::size_t rank = 0; rank < known.size(); ++rank) {
      EXPECT_NEAR(waits[rank], known[rank], 0.01) << "rank " << rank;
    }
  }

  /// From the first begin to the last end on compute lanes, ms, of each step.
  static std::vector<double> stepsOf(const Timeline& timeline) {
    std::map<int, std::pair<Nanoseconds, Nanoseconds>> spans;
    for (const Track& track : timeline.tracks) {
      if (track.lane != kComputeLane) continue;
      for (const Event& event : track.events) {
        if (event.step < 0) continue;
        auto& [begin, end] = spans.try_emplace(event.step, kNsMax, kNsMin).first->second;
        begin = std::min(begin, event.begin);
        end = std::max(end, event.end);
      }
    }
    std::vector<double> steps;
    for (const auto& [step, span] : spans) steps.push_back(inMs(span.second - span.first));
    return steps;
  }

  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }

  static double meanStepWith(const ExplainedRun& run, const RunChanges& changes) {
    const CountedSteps all;
    const RunAgain again(*run.own, all);
    return mean(stepsOf(again.run(changes)));
  }

  static RunChanges scaled(const std::string& text) {
    RunChanges changes;
    changes.scales.push_back(parseScale(text));
    return changes;
  }

  /// Of all that are not minor.
  static std::string textsOf(const ExplainedRun& run) {
    std::string texts;
    for (const Finding& finding : run.findings) {
      if (!finding.isMinor) texts += findingText(finding) + "\n";
    }
    return texts;
  }

  /// That the first finding is about a rank that takes from `least` to `most` times as long.
  static void expectSlowRankFirst(const ExplainedRun& run, int rank, double least, double most) {
    const Finding& first = run.findings.at(0);
    ASSERT_EQ(first.kind, FindingKind::kSlowRank) << textsOf(run);
    ASSERT_EQ(first.ranks.size(), 1U) << textsOf(run);
    EXPECT_EQ(first.ranks[0].first, rank);
    const double factor = first.factsOf<SlowerRanks::Rank>()->factor;
    EXPECT_GE(factor, least);
    EXPECT_LE(factor, most);
    EXPECT_GT(first.inside, 0);
  }

  /// That no other rank is blamed, no stage, link or late start, in what is not minor.
  static void expectNothingElse(const ExplainedRun& run, const std::vector<FindingKind>& known) {
    for (const Finding& each : run.findings) {
      const bool isOfNobody = each.kind == FindingKind::kSchedule ||
                              each.kind == FindingKind::kPauses ||
                              each.kind == FindingKind::kOptimizers ||
                              each.kind == FindingKind::kOptimizersAndCollectives ||
                              each.kind == FindingKind::kExposedCollectives;
      if (each.isMinor || isOfNobody) continue;
      EXPECT_THAT(known, testing::Contains(each.kind)) << findingText(each);
    }
  }
};

TEST_F(HybridData, ACleanRunHasItsTimesAndNobodyIsToBlame) {
  const auto run = explained("hybrid/clean");
  for (const double step : stepsOf(run.own->timeline())) EXPECT_NEAR(step, 287.4, 0.01);
  expectWaits(run, std::vector<double>(8, 0));
  for (const InsideTimes& each : insideTimesOf(run.own->graph(), {})) {
    EXPECT_NEAR(inMs(each.parts.moving) / static_cast<double>(each.steps), 9.6, 0.01);
  }
  expectNothingElse(run, {});
}

TEST_F(HybridData, ASlowPeerIsTheFirstFindingAndTheOnlyOneThatBlamesAnybody) {
  for (const char* const name : {"hybrid/slow_peer", "hybrid/slow_peer_bare"}) {
    SCOPED_TRACE(name);
    const auto run = explained(name);
    expectSlowRankFirst(run, 6, 1.24, 1.26);
    expectNothingElse(run, {FindingKind::kSlowRank});
    std::vector<double> waits(16, 0);
    for (const std::size_t peer : {4U, 5U, 7U}) waits[peer] = 60;
    expectWaits(run, waits);
    EXPECT_THAT(textsOf(run), Not(ContainsRegex("stage 1 .*take|later than|messages between")));
    // Each of 16 ranks has 392.2 ms instead of 348.4 a step. Of that, rank 6 computes for 8 · 7.5
    // ms. The others are idle, or wait inside.
    const double excess = 16 * (392.2 - 348.4) - 60;
    EXPECT_GE(inMs(run.findings.at(0).time) / 3, 0.95 * excess);
    const double predicted = meanStepWith(run, scaled("rank=6:0.8"));
    EXPECT_NEAR(predicted, 348.4, 0.005 * 348.4);
  }
}

TEST_F(HybridData, ASlowReplicaThatSharesWeightsIsTheFirstFindingAndItsGathersTheSecond) {
  const auto run = explained("hybrid/fsdp");
  expectSlowRankFirst(run, 3, 1.19, 1.21);
  expectNothingElse(run, {FindingKind::kSlowRank});
  expectWaits(run, {46, 46, 46, 0, 14, 14, 14, 0});
  const Finding& second = run.findings.at(1);
  ASSERT_EQ(second.kind, FindingKind::kExposedCollectives) << textsOf(run);
  const auto* exposed = second.factsOf<Peers::Exposed>();
  EXPECT_NEAR(inMs(exposed->perStep), 36, 0.01);
  EXPECT_TRUE(exposed->gathers);
  EXPECT_TRUE(exposed->scatters);
  const double predicted = meanStepWith(run, scaled("rank=3:0.8333333333"));
  EXPECT_NEAR(predicted, 314.1, 0.005 * 314.1);
}

TEST_F(HybridData, UnevenExpertsAreTheFirstFindingAndNoRankIsNamed) {
  const auto run = explained("hybrid/moe");
  const Finding& first = run.findings.at(0);
  ASSERT_EQ(first.kind, FindingKind::kUnevenLoad) << textsOf(run);
  EXPECT_THAT(textsOf(run), Not(ContainsRegex("rank [0-9]")));
  expectNothingElse(run, {FindingKind::kUnevenLoad});
  expectWaits(run, {46.942, 46.411, 42.875, 38.779, 46.942, 46.411, 42.875, 38.779});
  const std::vector<double> steps = stepsOf(run.own->timeline());
  ASSERT_EQ(steps.size(), 3U);
  const double known[] = {350.17, 354.263, 363.772};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(steps[i], known[i], 0.01);
  RunChanges even;
  even.evenGroups = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  const double predicted = meanStepWith(run, even);
  const double repaired = (298.981 + 297.94 + 309.249) / 3;
  EXPECT_NEAR(predicted, repaired, 0.005 * repaired);
}

TEST_F(HybridData, ARankThatSleepsLongerUnderGlooIsTheFirstFinding) {
  expectSlowRankFirst(explained("hybrid/gloo_slow_rank_1"), 1, 1.3, 1.5);
}

TEST_F(HybridData, SlowTensorParallelRanksOfRealTrainingsAreTheFirstFinding) {
  for (const char* const name : {"real_hybrid/t_tp_slowrank1", "real_hybrid/m_tp_slow1"}) {
    SCOPED_TRACE(name);
    const auto run = explained(name);
    expectSlowRankFirst(run, 1, 1.25, 1.45);
    for (const Finding& each : run.findings) {
      EXPECT_TRUE(each.isMinor || each.kind != FindingKind::kSlowStages) << findingText(each);
    }
  }
}

TEST_F(HybridData, ASlowLoaderOfOneReplicaIsTheFirstFinding) {
  const auto run = explained("real_hybrid/t_fsdp_data1");
  const Finding& first = run.findings.at(0);
  ASSERT_EQ(first.kind, FindingKind::kData) << textsOf(run);
  EXPECT_EQ(first.factsOf<BlamedJob>()->rank, 1);
  EXPECT_THAT(findingText(first), HasSubstr("rank 1's data loader: 150.5 ms a step"));
  ASSERT_FALSE(first.ranks.empty());
  EXPECT_EQ(first.ranks[0].first, 1);
  EXPECT_GT(first.ranks[0].second, first.time / 100 * 99);
  EXPECT_GT(first.inside, 0) << "rank 0 waits in a gather";
}

TEST_F(HybridData, InSoundTrainingsNoSingleRankIsNamed) {
  for (const char* const name : {"real_hybrid/t_itp", "real_hybrid/t_fsdp"}) {
    SCOPED_TRACE(name);
    const auto run = explained(name);
    for (const Finding& each : run.findings) {
      EXPECT_NE(each.kind, FindingKind::kSlowRank) << findingText(each);
      if (each.isMinor) continue;
      EXPECT_NE(each.ranks.size(), 1U) << findingText(each);
      EXPECT_THAT(each.stages, IsEmpty()) << findingText(each);
    }
  }
}

}  // namespace
}  // namespace pipetrace
