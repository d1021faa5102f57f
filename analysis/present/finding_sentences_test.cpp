// Sentences of findings that no run was explained for: facts are all that they need. Findings of
// runs are in analysis/causes/findings_test.cpp.
#include "analysis/present/finding_sentences.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

/// 30 of 120 ms of idle time, which ranks 1 and 3 caused.
Finding findingOf(FindingKind kind, Remedy remedy) {
  Finding finding{.kind = kind, .remedy = remedy, .time = 30 * kNsPerMs, .idle = 120 * kNsPerMs};
  finding.ranks = {{3, 20 * kNsPerMs}, {1, 10 * kNsPerMs}};
  return finding;
}

/// Ranks 2 and 6 have stage 2, which takes `factor` times as long as others.
Finding slowStage(double factor, Remedy remedy) {
  Finding finding = findingOf(FindingKind::kSlowStages, remedy);
  finding.stages = {2};
  finding.facts = StagesBesideOthers{.ranks = {2, 6},
                                     .all = {.times = factor, .isKnown = true},
                                     .slowOnes = {2},
                                     .ofSlowOnes = {.times = factor, .isKnown = true}};
  return finding;
}

TEST(FindingSentences, AStageThatIsAsLongAsOthersButNotWithEachKindIsNotCalledSlow) {
  const Finding finding = slowStage(1.0, Remedy::kComparePasses);
  EXPECT_TRUE(findingText(finding).starts_with(
      "stage 2 (ranks 2 and 6) takes as long as the median of stages, but not with each kind of "
      "job: imbalance costs "))
      << findingText(finding);
  EXPECT_EQ(remedyText(finding),
            "compare forward and backward passes: pipe-trace --json has their medians by stage");
}

TEST(FindingSentences, ARemedyIsAFactAndChangesNoText) {
  Finding finding = slowStage(1.3, Remedy::kFewerLayers);
  const std::string text = findingText(finding);
  EXPECT_EQ(remedyText(finding), "all ranks there are alike, so give that stage fewer layers");
  std::get<StagesBesideOthers>(finding.facts).areRanksAlike = false;
  EXPECT_EQ(remedyText(finding),
            "its faster ranks take that long, too, so give that stage fewer layers");
  EXPECT_EQ(findingText(finding), text);
}

TEST(FindingSentences, ARunOnProcessorsHasNoGpuToLookAt) {
  for (const Remedy remedy :
       {Remedy::kSoonerLaunches, Remedy::kSoonerMessages, Remedy::kFewerLayersOrHost}) {
    Finding finding = slowStage(1.3, remedy);
    if (remedy == Remedy::kSoonerMessages) finding.facts = LateMessage{};
    EXPECT_THAT(remedyText(finding), testing::ContainsRegex("GPU|device"))
        << static_cast<int>(remedy);
    finding.onProcessors = true;
    EXPECT_THAT(remedyText(finding), testing::Not(testing::ContainsRegex("GPU|device|launch")));
  }
}

TEST(FindingSentences, RanksAreNamedWithTheirShares) {
  EXPECT_EQ(findingText(findingOf(FindingKind::kLateJobs, Remedy::kSoonerLaunches)),
            "ranks 1 and 3 begin their jobs later than their inputs are there: late starts cost "
            "30.00 ms of idle time, 25.0 % of all (rank 3: 66.7 %, rank 1: 33.3 %)");
}

TEST(FindingSentences, NoRankHasALinkWithItself) {
  Finding finding = findingOf(FindingKind::kMessages, Remedy::kFewerMessages);
  finding.ranks.clear();
  finding.facts = LinkBesideOthers{};
  finding.links = {{{0, 4}, 20 * kNsPerMs}, {{4, 4}, 10 * kNsPerMs}};
  EXPECT_TRUE(
      findingText(finding).ends_with("(ranks 0 and 4: 66.7 %, collectives of rank 4: "
                                     "33.3 %)"))
      << findingText(finding);
}

TEST(FindingSentences, LinksAreNotCalledAlikeWhereOneHasMostOfTheTime) {
  Finding finding = findingOf(FindingKind::kMessages, Remedy::kFewerMessages);
  finding.facts = LinkBesideOthers{};
  finding.links = {{{1, 3}, 20 * kNsPerMs}, {{2, 4}, 6 * kNsPerMs}, {{0, 2}, 4 * kNsPerMs}};
  EXPECT_TRUE(findingText(finding).starts_with(
      "ranks wait while messages are on their way, mostly between ranks 1 and 3, though most "
      "messages there take no longer than others: transfers cost 30.00 ms"))
      << findingText(finding);
  finding.links[1].second = 7 * kNsPerMs;
  EXPECT_TRUE(findingText(finding).starts_with(
      "ranks wait while messages are on their way, on links that are all alike: "));
}

TEST(FindingSentences, OneLongJobIsItAndSeveralAreThem) {
  Finding finding = findingOf(FindingKind::kLongJobs, Remedy::kThatMoment);
  finding.facts = BlamedJob{
      .name = "2F5", .rank = 2, .step = 7, .length = 300 * kNsPerMs, .usual = 10 * kNsPerMs};
  const std::string longest = "2F5 of rank 2 takes 300.0 ms in step 7 (median 10.00 ms)";
  EXPECT_EQ(findingText(finding),
            longest + ": waiting for it costs 30.00 ms of idle time, 25.0 % of all");
  std::get<BlamedJob>(finding.facts).count = 3;
  EXPECT_EQ(findingText(finding),
            longest +
                ", and 2 more jobs of it take at least 10 times as long as usual: waiting "
                "for them costs 30.00 ms of idle time, 25.0 % of all");
}

TEST(FindingSentences, MessagesThatHoldLinesSayWhatAStepWouldGain) {
  Finding finding = findingOf(FindingKind::kHeldLines, Remedy::kOrderOfMessages);
  HeldLines lines{.first = "8RECV_F0", .rank = 1, .count = 7};
  finding.facts = lines;
  const std::string held =
      "8RECV_F0 on rank 1 and 6 more receives, posted before their data came, hold up messages "
      "behind them: ";
  EXPECT_EQ(findingText(finding),
            held +
                "waiting for their lines costs 30.00 ms of idle time, 25.0 % of all (rank 3: "
                "66.7 %, rank 1: 33.3 %)");
  EXPECT_TRUE(remedyText(finding).starts_with("give messages the order of their times: "));
  lines.inTime = RunInTime{.length = 80 * kNsPerMs,
                           .usual = 100 * kNsPerMs,
                           .schedule = "1F1B",
                           .ranks = 4,
                           .microBatches = 8,
                           .logs = "'my logs'"};
  finding.facts = lines;
  EXPECT_EQ(findingText(finding),
            held +
                "20.00 ms a step, 20.0 % of it; with messages in the order of their times the "
                "step would take 80.00 ms");
  EXPECT_EQ(remedyText(finding),
            "pipe-trace plan --schedule 1F1B --ranks 4 --micro-batches 8 --costs-from 'my logs' "
            "--comm-streams rank --transfers in-time --csv better.csv --for torch writes that plan "
            "(docs/inputs/torch.md, \"A better order of messages\")");
}

TEST(FindingSentences, IdleTimeWithoutACauseSaysWhatIsMissing) {
  Finding finding = findingOf(FindingKind::kUnknown, Remedy::kStepsLeftOut);
  const std::string text = "of the idle time no cause is known for 30.00 ms, 25.0 %";
  finding.facts = UnknownIdle{};
  EXPECT_EQ(findingText(finding), text);
  finding.facts = UnknownIdle{.lacking = {.steps = {3, 4}, .whole = NumberRange{0, 3}}};
  EXPECT_EQ(findingText(finding),
            text + "; jobs are missing in 2 steps, so nobody knows what ranks waited for there");
  EXPECT_EQ(remedyText(finding), "leave these out with --steps 0:3");
}

TEST(FindingSentences, TheStepsOfAnEvaluationAreNamed) {
  Finding finding = findingOf(FindingKind::kPauses, Remedy::kFewerEvaluations);
  Pauses pauses{
      .step = 2, .end = 228 * kNsPerMs, .count = 1, .reason = Pauses::Reason::kEvaluation};
  pauses.workTime = 200 * kNsPerMs;
  pauses.firstOther = 3;
  pauses.lastOther = 4;
  finding.facts = pauses;
  EXPECT_EQ(findingText(finding),
            "training pauses after step 2 for 228.0 ms; the evaluation (steps 3 to 4) takes "
            "200.0 ms of that");
  EXPECT_EQ(workText(pauses), "steps 3 to 4");
}

TEST(FindingSentences, MinorOnesAreCounted) {
  std::vector<Finding> findings(3, findingOf(FindingKind::kData, Remedy::kDataAhead));
  EXPECT_EQ(minorFindingsText(findings), "");
  for (Finding& finding : findings) {
    finding.isMinor = true;
    finding.shareOfSteps = 0.004;
  }
  EXPECT_EQ(minorFindingsText(findings),
            "3 more causes cost less than 1 % of the steps' time each, 1.2 % together");
  findings[1].shareOfSteps = 0.015;  // a pause after each step
  EXPECT_EQ(minorFindingsText(findings),
            "3 more causes cost less than 2 % of the steps' time each, 2.3 % together");
}

}  // namespace
}  // namespace pipetrace
