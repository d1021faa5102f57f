// Doubts in words, from facts made by hand.
#include "analysis/present/doubt_sentences.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(DoubtSentences, EachSaysTheCauseInOneLineWithWhatToDo) {
  const std::vector<std::pair<Doubt, std::string>> said = {
      {{.kind = DoubtKind::kNoTime, .ranks = {1}, .count = 2},
       "2 events of rank 1 have no time: they are at 0, or before their launch, and were left out"},
      {{.kind = DoubtKind::kOverruns, .ranks = {0, 1}, .time = kNsPerMs, .count = 7},
       std::string("work on a stream or a thread of ranks 0 and 1 goes on while the next one runs, "
                   "7 times and "
                   "1.000 ms in "
                   "all: ") +
           "these do one thing at a time, so it was cut where the next one begins"},
      {{.kind = DoubtKind::kClocksApart,
        .ranks = {0, 1},
        .time = 10 * kNsPerMs,
        .count = 24,
        .all = 48,
        .morePairs = 2,
        .made = "0F0",
        .used = "1F0",
        .step = 3},
       std::string("1F0 of rank 1 begins 10.00 ms before 0F0 of rank 0 has ended, which makes its "
                   "data (step 3), ") +
           "as do 24 of 48 such jobs, and jobs of 2 more pairs of ranks: " +
           "their clocks are apart by at least that, so idle time between them has no known cause"},
      {{.kind = DoubtKind::kClocksMoved,
        .ranks = {0, 1},
        .time = 10 * kNsPerMs,
        .beside = 100 * kNsPerUs},
       std::string(
           "the clocks of ranks 0 and 1 are apart by at least 10.00 ms, as jobs begin before their "
           "data was made; ") +
           "times were moved by the order of jobs and messages, and are exact to within "
           "100.0 us"},
      {{.kind = DoubtKind::kOverlappingJobs,
        .ranks = {0},
        .time = 3,
        .beside = 4,
        .count = 4,
        .isMeaningless = true},
       std::string("compute jobs of rank 0 run at the same time, 75.0 % of their time, on 4 lanes "
                   "that have no "
                   "overlap by themselves: ") +
           "these may be ranks or stages of their own; busy time counts them "
           "once"},
      {{.kind = DoubtKind::kTooEfficient, .ratio = 2.9003},
       "the jobs of a step, one after the other on each rank, take 2.90 times as long as the step: "
       "jobs overlap, or have lengths that are not theirs"},
      {{.kind = DoubtKind::kDeviceBeyondRun,
        .ranks = {2},
        .time = 3410 * kNsPerMs,
        .beside = 2100 * kNsPerMs},
       "the device works 3.410 s in a run of 2.100 s on rank 2"},
      {{.kind = DoubtKind::kCoarseTimes, .time = 10 * kNsPerMs, .beside = 35 * kNsPerMs},
       "all times are multiples of 10.00 ms, and a job takes 35.00 ms: lengths and idle time are "
       "as "
       "coarse as that"},
      {{.kind = DoubtKind::kCoarseTimes, .count = 90, .all = 96},
       "90 of 96 jobs have no length: their times were rounded, or are not theirs"},
      {{.kind = DoubtKind::kLastJobLong,
        .ranks = {1},
        .time = kNsPerSecond,
        .beside = 20 * kNsPerMs,
        .made = "1B7",
        .step = 2},
       "1B7, the last job of rank 1, takes 1.000 s, and the longest other one like it 20.00 ms: "
       "the "
       "recording may have ended in it"},
      {{.kind = DoubtKind::kStepsInside, .time = kNsPerSecond, .step = 2},
       "step 2 ends 1.000 s after all later steps have ended: jobs have the time or the step of "
       "others"},
      {{.kind = DoubtKind::kMissingJobs, .count = 3, .step = 0},
       "3 jobs are missing, first in step 0: its micro-batches do not go through all stages, and "
       "what is missing counts as idle time"},
      {{.kind = DoubtKind::kLengthsApart,
        .ranks = {3},
        .time = 15 * kNsPerUs,
        .beside = 15 * kNsPerMs},
       "jobs of rank 3 take 15.00 us, and those of the median rank 15.00 ms: as if their times had "
       "another unit"},
      {{.kind = DoubtKind::kJobsTwice, .ranks = {1, 2}, .count = 16, .made = "1F0", .step = 0},
       "ranks 1 and 2 of a pipeline run the same jobs, such as 1F0 of step 0: they share a stage, "
       "or a file is there twice"},
      {{.kind = DoubtKind::kNothingRecorded,
        .time = 60 * kNsPerSecond,
        .beside = 61 * kNsPerSecond,
        .step = 3},
       "for 60.00 s of step 3 (98.4 % of it) no rank recorded anything: the program stood still, "
       "or "
       "times are wrong"},
      {{.kind = DoubtKind::kSilentRanks, .ranks = {2}},
       "rank 2 sends and receives nothing, while other ranks of the run do: what they wait for is "
       "not known"},
      {{.kind = DoubtKind::kMessagesBetween, .ranks = {1, 2}, .count = 48},
       "48 messages lead from one pipeline to another, between ranks 1 and 2: the ranks are "
       "arranged in another way than the logs or the options say"},
      {{.kind = DoubtKind::kHiddenWaits,
        .ranks = {0, 1},
        .time = 30 * kNsPerMs,
        .beside = 300 * kNsPerMs,
        .made = "deep_ep::intranode::dispatch"},
       "kernels inside jobs of ranks 0 and 1 exchange data with ranks that the trace does not name "
       "(deep_ep::intranode::dispatch), 10.0 % of the jobs' time at most: what they wait there "
       "counts as work, so a slow rank may look like a slow stage"},
      {{.kind = DoubtKind::kHiddenWaits, .ranks = {0, 1}},
       "ranks 0 and 1 share stages with peers, and nothing shows for how long they wait for each "
       "other inside their jobs: that counts as work, so a slow rank may look like a slow stage, "
       "or "
       "like its peers"},
      {{.kind = DoubtKind::kFoundJobs,
        .ranks = {0, 1, 2, 3},
        .count = 96,
        .all = 96,
        .schedule = "1F1B",
        .fitting = 96},
       "no annotation names the jobs of ranks 0 to 3: 96 jobs were found by operators, kernels "
       "and messages; all 4 ranks follow 1F1B, 96 of 96 jobs"},
      {{.kind = DoubtKind::kFoundJobs, .ranks = {1}, .count = 8, .byOrder = 4},
       std::string(
           "no annotation names the jobs of rank 1: 8 jobs were found by operators, kernels "
           "and messages; they fit no known schedule; ") +
           "the micro-batches of 4 jobs are counted by their order"},
      {{.kind = DoubtKind::kFoundJobs,
        .ranks = {1},
        .time = 3 * kNsPerMs,
        .count = 8,
        .unplaced = 1},
       std::string(
           "no annotation names the jobs of rank 1: 8 jobs were found by operators, kernels "
           "and messages; they fit no known schedule; ") +
           "1 run of operators (3.000 ms) that may be a job was not placed"},
      {{.kind = DoubtKind::kFoundJobs, .ranks = {1, 3}, .count = 8, .parted = {3}, .unparted = {1}},
       std::string("no annotation names the jobs of ranks 1 and 3: 8 jobs were found by operators, "
                   "kernels and messages; they fit no known schedule; ") +
           "no message shows where the backwards of rank 3 begin: they begin here where kernels " +
           "have other names or lengths; the forwards of rank 1 may have their backwards in them, "
           "as no message parts the two"},
  };
  for (const auto& [doubt, text] : said) {
    EXPECT_EQ(doubtText(doubt), text);
    EXPECT_FALSE(doubtAdvice(doubt).empty()) << text;
    EXPECT_EQ(doubtLine(doubt), "doubt: " + text + "; " + doubtAdvice(doubt));
  }
}

TEST(DoubtSentences, ADoubtOfAReaderIsSaidInItsWords) {
  const Doubt doubt{.kind = DoubtKind::kIncompleteSteps,
                    .said = "step 2 is incomplete",
                    .advice = "leave it out"};
  EXPECT_EQ(doubtLine(doubt), "doubt: step 2 is incomplete; leave it out");
}

TEST(DoubtSentences, ARefusalNamesThoseThatMakeFiguresMeaninglessAndTheWayAround) {
  const std::string text =
      noFiguresText({{.kind = DoubtKind::kTooEfficient, .ratio = 2.9, .isMeaningless = true},
                     {.kind = DoubtKind::kSilentRanks, .ranks = {2}}});
  EXPECT_THAT(text, StartsWith("figures of this run would mean nothing; the jobs of a step"));
  EXPECT_THAT(text, testing::Not(HasSubstr("rank 2")));
  EXPECT_THAT(text, testing::EndsWith("--force prints them all the same"));
}

TEST(DoubtSentences, JsonIsAnEmptyListWhereAllIsWell) {
  EXPECT_EQ(doubtsJson({}), "[]");
  const auto list = nlohmann::json::parse(
      doubtsJson({{.kind = DoubtKind::kOverruns, .ranks = {3}, .time = 5, .count = 2}}));
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["kind"], "overruns");
  EXPECT_EQ(list[0]["effect"], "cut");
  EXPECT_EQ(list[0]["ranks"], nlohmann::json::array({3}));
  EXPECT_EQ(list[0]["time_ns"], 5);
  EXPECT_EQ(list[0]["count"], 2);
  EXPECT_EQ(list[0]["meaningless"], false);
}

}  // namespace
}  // namespace pipetrace
