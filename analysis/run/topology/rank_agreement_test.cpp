#include "analysis/run/topology/rank_agreement.h"

#include <gmock/gmock.h>

#include "analysis/run_summary.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// A rank of a run of four, as its log describes it.
RankInfo describedRank(int rank) {
  RankInfo info;
  info.rank = rank;
  info.worldSize = 4;
  info.numStages = 4;
  info.numChunks = 1;
  info.numMicroBatches = 8;
  info.schedule = "1F1B";
  return info;
}

Timeline run(std::initializer_list<int> ranks) {
  Timeline timeline;
  for (const int rank : ranks) {
    timeline.track(rank, kComputeLane).events.push_back({.begin = 1, .end = 2, .step = 0});
    timeline.ranks[rank] = describedRank(rank);
  }
  return timeline;
}

/// The warnings that the completion of a timeline gives.
std::vector<std::string> agreementWarnings(Timeline timeline) {
  timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  std::vector<std::string> list;
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity == Severity::kWarning) list.push_back(toText(diagnostic));
  }
  return list;
}

TEST(RankAgreement, AWholeRunAndRanksWithoutMetaCauseNoWarning) {
  EXPECT_THAT(agreementWarnings(run({0, 1, 2, 3})), IsEmpty());
  Timeline silent = run({0, 1, 5});
  for (auto& [rank, info] : silent.ranks) info = {.rank = rank};
  EXPECT_THAT(agreementWarnings(silent), IsEmpty());
  Timeline partlySilent = run({0, 1, 2, 3});
  partlySilent.ranks[2] = {.rank = 2};
  EXPECT_THAT(agreementWarnings(partlySilent), IsEmpty());
}

TEST(RankAgreement, LogsOfAnOlderRunAmongTheOthersAreReported) {
  Timeline timeline = run({0, 1, 2, 3});
  for (const int rank : {0, 1}) {
    timeline.ranks[rank].worldSize = 2;
    timeline.ranks[rank].numStages = 2;
  }
  EXPECT_THAT(
      agreementWarnings(timeline),
      ElementsAre(
          AllOf(HasSubstr(
                    "the ranks disagree about world_size: 2 (ranks 0 and 1), 4 (ranks 2 and 3)"),
                EndsWith("remove the logs of older runs, or give those of one run only")),
          HasSubstr("the ranks disagree about num_stages: 2 (ranks 0 and 1), 4 (ranks 2 and 3)")));
}

TEST(RankAgreement, DifferentMicroBatchesAndSchedulesAreReported) {
  Timeline timeline = run({0, 1, 2, 3});
  timeline.ranks[3].numMicroBatches = 16;
  timeline.ranks[1].schedule = "GPipe";
  EXPECT_THAT(
      agreementWarnings(timeline),
      ElementsAre(HasSubstr("num_micro_batches: 8 (ranks 0 to 2), 16 (rank 3)"),
                  HasSubstr("disagree about schedule: 1F1B (ranks 0, 2 and 3), GPipe (rank 1)")));
}

TEST(RankAgreement, ARankPastTheWorldSizeIsReported) {
  Timeline timeline = run({0, 1, 2, 3, 6});
  timeline.ranks[6] = {.rank = 6};
  EXPECT_THAT(agreementWarnings(timeline),
              ElementsAre(HasSubstr("rank 6 cannot belong to a run with world_size = 4")));
}

TEST(RankAgreement, MissingRanksAreReported) {
  EXPECT_THAT(agreementWarnings(run({0, 2, 3})),
              ElementsAre(StartsWith("warning: 3 of 4 ranks are there: rank 1 is missing")));
  EXPECT_THAT(agreementWarnings(run({2})),
              ElementsAre(HasSubstr("1 of 4 ranks is there: ranks 0, 1 and 3 are missing")));
}

TEST(RankAgreement, RanksThatWereLeftOutOnPurposeAreNotMissing) {
  Timeline timeline = run({0, 2});
  for (auto& [rank, info] : timeline.ranks) info.isSelected = true;
  EXPECT_THAT(agreementWarnings(timeline), IsEmpty());
  timeline.ranks[2].isSelected = false;  // from a log beside that profile
  EXPECT_THAT(agreementWarnings(timeline), ElementsAre(HasSubstr("ranks 1 and 3 are missing")));
}

TEST(RankAgreement, RanksThatHadEndedBeforeTheOthersBeganAreReported) {
  const auto runFrom = [](std::initializer_list<Nanoseconds> begins, JobKind last) {
    Timeline timeline = run({0, 1, 2, 3});
    for (int rank = 0; const Nanoseconds begin : begins) {
      timeline.track(rank++, kComputeLane).events = {
          {.begin = begin, .end = begin + 5 * kNsPerMs, .step = 0, .kind = JobKind::kForward},
          {.begin = begin + 5 * kNsPerMs, .end = begin + 10 * kNsPerMs, .step = 0, .kind = last}};
    }
    return timeline;
  };
  const auto ms = [](int n) { return n * kNsPerMs; };
  EXPECT_THAT(agreementWarnings(runFrom({ms(3010), ms(3011), ms(3012), ms(0)}, JobKind::kBackward)),
              ElementsAre(AllOf(HasSubstr("rank 3 had ended 3"),
                                HasSubstr(" before ranks 0 to 2 began: the logs are of several"),
                                EndsWith("give those of one run only"))));
  EXPECT_THAT(agreementWarnings(runFrom({ms(20), ms(0), ms(21), ms(1)}, JobKind::kBackwardInput)),
              ElementsAre(HasSubstr("ranks 1 and 3 had ended")));
  // Ranks that touch in time, or one that works while the others take turns.
  EXPECT_THAT(agreementWarnings(runFrom({ms(0), ms(10), ms(20), ms(5)}, JobKind::kBackward)),
              IsEmpty());
  EXPECT_THAT(agreementWarnings(runFrom({ms(0), ms(20), ms(40), ms(60)}, JobKind::kForward)),
              IsEmpty());
}

TEST(RankAgreement, AnImpossibleWorldSizeIsIgnored) {
  for (const int nonsense : {-3, 0, 2'000'000'000}) {
    Timeline timeline = run({0});
    timeline.ranks[0] = {.rank = 0, .worldSize = nonsense};
    EXPECT_THAT(agreementWarnings(timeline), IsEmpty()) << nonsense;
  }
}

}  // namespace
}  // namespace pipetrace
