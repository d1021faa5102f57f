#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/dry_run.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

constexpr const char* kSchedules[] = {"ZB-H2", "ZBV", "V-Half", "V-Min"};

/// Forward, input and weight half one unit each, free transfers.
DryRun rehearse(const Plan& plan) {
  return dryRun(CheckedPlan(plan), Costs::equal(plan.numStages, {1, 2, 1, 1}));
}

int peakOf(const DryRun& run) {
  int peak = 0;
  for (const DryRun::Rank& rank : run.ranks) peak = std::max(peak, rank.peakLive);
  return peak;
}

Nanoseconds longestSpan(const DryRun& run) {
  Nanoseconds span = 0;
  for (const DryRun::Rank& rank : run.ranks) span = std::max(span, rank.last - rank.first);
  return span;
}

TEST(ZeroBubbleBuilders, EverySizeGivesAPlanThatRuns) {
  for (const char* const name : kSchedules) {
    for (int p = 1; p <= 11; ++p) {
      for (int m = 1; m <= 24; ++m) {
        const Plan plan = buildSchedule(name, p, m);
        const auto problems = check(plan);
        ASSERT_TRUE(problems.empty())
            << plan.name << " p=" << p << " m=" << m << ": " << toText(problems.front());
      }
    }
  }
}

constexpr int kMicroBatches[] = {1, 2, 3, 4, 6, 8, 12, 16, 24};

/// Plans of kMicroBatches by the authors' own scheduler
/// (github.com/sail-sg/zero-bubble-pipeline-parallelism: zb.py with the memory of 2 p, zbv.py,
/// zbv_greedy.py). For ZBV the better one of theirs and torch's.
struct TheirPlans {
  const char* schedule;
  int ranks;
  struct {
    Nanoseconds length;
    int peak;
  } plans[std::size(kMicroBatches)];
};

// clang-format off
const TheirPlans kTheirPlans[] = {
    {"ZB-H2", 2, {{5, 1}, {7, 2}, {10, 3}, {13, 4}, {19, 4}, {25, 4}, {37, 4}, {49, 4}, {73, 4}}},
    {"ZB-H2", 3, {{7, 1}, {9, 2}, {11, 3}, {14, 4}, {20, 6}, {26, 6}, {38, 6}, {50, 6}, {74, 6}}},
    {"ZB-H2", 4, {{9, 1}, {11, 2}, {13, 3}, {15, 4}, {21, 6}, {27, 8}, {39, 8}, {51, 8}, {75, 8}}},
    {"ZB-H2", 5, {{11, 1}, {13, 2}, {15, 3}, {17, 4}, {22, 6}, {28, 8}, {40, 10}, {52, 10}, {76, 10}}},
    {"ZB-H2", 6, {{13, 1}, {15, 2}, {17, 3}, {19, 4}, {23, 6}, {29, 8}, {41, 12}, {53, 12}, {77, 12}}},
    {"ZB-H2", 7, {{15, 1}, {17, 2}, {19, 3}, {21, 4}, {25, 6}, {30, 8}, {42, 12}, {54, 14}, {78, 14}}},
    {"ZB-H2", 8, {{17, 1}, {19, 2}, {21, 3}, {23, 4}, {27, 6}, {31, 8}, {43, 12}, {55, 16}, {79, 16}}},
    {"ZBV", 2, {{9, 2}, {13, 4}, {19, 4}, {25, 4}, {37, 4}, {49, 4}, {73, 4}, {97, 4}, {145, 4}}},
    {"ZBV", 3, {{13, 2}, {16, 4}, {20, 6}, {26, 6}, {38, 6}, {50, 6}, {74, 6}, {98, 6}, {146, 6}}},
    {"ZBV", 4, {{17, 2}, {19, 4}, {23, 6}, {27, 8}, {39, 8}, {51, 8}, {75, 8}, {99, 8}, {147, 8}}},
    {"ZBV", 5, {{21, 2}, {23, 4}, {26, 6}, {30, 8}, {40, 10}, {52, 10}, {76, 10}, {100, 10}, {148, 10}}},
    {"ZBV", 6, {{25, 2}, {27, 4}, {29, 6}, {33, 8}, {41, 12}, {53, 12}, {77, 12}, {101, 12}, {149, 12}}},
    {"ZBV", 7, {{29, 2}, {31, 4}, {33, 6}, {36, 8}, {44, 12}, {54, 14}, {78, 14}, {102, 14}, {150, 14}}},
    {"ZBV", 8, {{33, 2}, {35, 4}, {37, 6}, {39, 8}, {47, 12}, {55, 16}, {79, 16}, {103, 16}, {151, 16}}},
    {"V-Half", 2, {{10, 2}, {15, 4}, {19, 4}, {25, 4}, {37, 4}, {49, 4}, {73, 4}, {97, 4}, {145, 4}}},
    {"V-Half", 3, {{14, 2}, {19, 4}, {23, 4}, {29, 4}, {41, 4}, {53, 4}, {77, 4}, {101, 4}, {149, 4}}},
    {"V-Half", 4, {{18, 2}, {22, 4}, {27, 6}, {34, 6}, {41, 6}, {53, 6}, {77, 6}, {101, 6}, {149, 6}}},
    {"V-Half", 5, {{22, 2}, {26, 4}, {31, 6}, {38, 6}, {47, 6}, {59, 6}, {83, 6}, {107, 6}, {155, 6}}},
    {"V-Half", 6, {{26, 2}, {30, 4}, {35, 6}, {40, 8}, {48, 8}, {59, 8}, {83, 8}, {107, 8}, {155, 8}}},
    {"V-Half", 7, {{30, 2}, {34, 4}, {39, 6}, {44, 8}, {55, 8}, {65, 8}, {89, 8}, {113, 8}, {161, 8}}},
    {"V-Half", 8, {{34, 2}, {38, 4}, {43, 6}, {48, 8}, {60, 10}, {65, 10}, {89, 10}, {113, 10}, {161, 10}}},
    {"V-Min", 2, {{9, 2}, {15, 4}, {21, 4}, {27, 4}, {39, 4}, {51, 4}, {75, 4}, {99, 4}, {147, 4}}},
    {"V-Min", 3, {{13, 2}, {19, 4}, {26, 4}, {29, 4}, {41, 4}, {53, 4}, {77, 4}, {101, 4}, {149, 4}}},
    {"V-Min", 4, {{17, 2}, {23, 4}, {29, 4}, {35, 4}, {47, 4}, {59, 4}, {83, 4}, {107, 4}, {155, 4}}},
    {"V-Min", 5, {{21, 2}, {26, 4}, {33, 6}, {39, 6}, {51, 6}, {63, 6}, {87, 6}, {111, 6}, {159, 6}}},
    {"V-Min", 6, {{25, 2}, {30, 4}, {37, 6}, {43, 6}, {53, 6}, {65, 6}, {89, 6}, {113, 6}, {161, 6}}},
    {"V-Min", 7, {{29, 2}, {34, 4}, {41, 6}, {47, 6}, {59, 6}, {71, 6}, {95, 6}, {119, 6}, {167, 6}}},
    {"V-Min", 8, {{33, 2}, {38, 4}, {44, 6}, {51, 8}, {63, 8}, {75, 8}, {99, 8}, {123, 8}, {171, 8}}},
};
// clang-format on

TEST(ZeroBubbleBuilders, NoPlanIsLongerOrHungrierThanItsAuthors) {
  for (const TheirPlans& theirs : kTheirPlans) {
    for (std::size_t i = 0; i < std::size(kMicroBatches); ++i) {
      const Plan plan = buildSchedule(theirs.schedule, theirs.ranks, kMicroBatches[i]);
      SCOPED_TRACE(plan.name + " p=" + std::to_string(theirs.ranks) +
                   " m=" + std::to_string(kMicroBatches[i]));
      const DryRun run = rehearse(plan);
      EXPECT_LE(run.length, theirs.plans[i].length);
      EXPECT_LE(peakOf(run), theirs.plans[i].peak);
    }
  }
}

// Length, and activations of rank s, of torch's ScheduleZBVZeroBubble, which leaves the holes in,
// for 1 to 8 ranks and 1 to 24 micro-batches.
Nanoseconds lengthOfTorchsZbV(int p, int m) { return std::max(4 * (m + p) - 2, 6 * m + p - 1); }
int peakOfTorchsZbV(int p, int m, int s) { return std::min({2 * p, 2 * m, m + 1 + s}); }

TEST(ZeroBubbleBuilders, ZbVIsHungrierThanTorchsOnlyWhereThatMakesItShorter) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 24; ++m) {
      SCOPED_TRACE("p=" + std::to_string(p) + " m=" + std::to_string(m));
      const DryRun run = rehearse(buildSchedule("ZBV", p, m));
      EXPECT_LE(run.length, lengthOfTorchsZbV(p, m));
      if (m > 1 && m < p - 1) {
        EXPECT_LT(run.length, lengthOfTorchsZbV(p, m));
        EXPECT_LE(peakOf(run), std::min(2 * p, 2 * m));
        continue;
      }
      for (int s = 0; s < p; ++s) {
        EXPECT_LE(run.ranks[static_cast<std::size_t>(s)].peakLive, peakOfTorchsZbV(p, m, s))
            << "rank " << s;
      }
    }
  }
}

// Zero Bubble paper, sections 2.3 and 6: with 2 p - 1 micro-batches and more, no rank waits between
// its first job and its last.
TEST(ZeroBubbleBuilders, SpansHaveNoBubbleFromTwiceTheRanksOn) {
  for (int p = 1; p <= 12; ++p) {
    for (const int m : {2 * p - 1, 2 * p, 3 * p + 1}) {
      SCOPED_TRACE("p=" + std::to_string(p) + " m=" + std::to_string(m));
      for (const char* const name : {"ZB-H2", "ZBV"}) {
        const Plan plan = buildSchedule(name, p, m);
        const DryRun run = rehearse(plan);
        const Nanoseconds work = 3LL * m * plan.numChunks();
        EXPECT_EQ(longestSpan(run), work) << plan.name;
        EXPECT_EQ(run.length, work + p - 1) << plan.name;
      }
    }
  }
}

TEST(ZeroBubbleBuilders, PeaksAreThoseOfThePapers) {
  for (int p = 1; p <= 12; ++p) {
    const int m = 4 * p;
    // In activations of half a rank, where there are two chunks: 1F1B would hold 2 p of them.
    EXPECT_EQ(peakOf(rehearse(buildSchedule("ZB-H2", p, m))), 2 * p - 1);
    EXPECT_EQ(peakOf(rehearse(buildSchedule("ZBV", p, m))), 2 * p);
    EXPECT_EQ(peakOf(rehearse(buildSchedule("V-Half", p, m))), 2 * (p / 2 + 1));
    EXPECT_EQ(peakOf(rehearse(buildSchedule("V-Min", p, m))), 2 * ((p + 4) / 3));
  }
}

TEST(ZeroBubbleBuilders, MoreMicroBatchesAddNothingButTheirWork) {
  for (const char* const name : kSchedules) {
    for (const int p : {1, 3, 4, 8, 13}) {
      const Plan some = buildSchedule(name, p, 6 * p);
      const Plan more = buildSchedule(name, p, 12 * p);
      EXPECT_EQ(rehearse(more).length - rehearse(some).length, 6LL * p * 3 * some.numChunks())
          << some.name << " p=" << p;
    }
  }
}

TEST(ZeroBubbleBuilders, LargePlansAreBuiltWhole) {
  for (const char* const name : kSchedules) {
    const Plan plan = buildSchedule(name, 64, 1024);
    for (const auto& row : plan.ranks) {
      EXPECT_EQ(row.size(), 3U * 1024U * static_cast<unsigned>(plan.numChunks()));
    }
  }
}

const std::string kFolder = test::inSources("../shared/data/schedules/");

TEST(ZeroBubbleBuilders, NoRankIsHungrierThanInTheReferenceFiles) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is not there";
  const std::pair<const char*, const char*> pairs[] = {{"ZB-H2", "ZB2P_p4_m8_v1.csv"},
                                                       {"ZBV", "ZBV_p4_m8_v2.csv"},
                                                       {"V-Half", "VHalf_p4_m8_v2.csv"},
                                                       {"V-Min", "VMin_p4_m8_v2.csv"}};
  for (const auto& [name, reference] : pairs) {
    SCOPED_TRACE(reference);
    std::ifstream file(kFolder + reference);
    std::stringstream text;
    text << file.rdbuf();
    const DryRun theirs = rehearse(readPlan(text.str(), reference));
    const DryRun ours = rehearse(buildSchedule(name, 4, 8));
    EXPECT_LE(ours.length, theirs.length);
    EXPECT_LE(longestSpan(ours), longestSpan(theirs));
    for (std::size_t r = 0; r < 4; ++r) {
      EXPECT_LE(ours.ranks[r].peakLive, theirs.ranks[r].peakLive) << "rank " << r;
    }
  }
}

}  // namespace
}  // namespace pipetrace
