#include "analysis/run/plans/plan_deviations.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"

namespace pipetrace {
namespace {

/// "0F1 2>3 on rank 0": planned at 2, measured at 3.
std::vector<std::string> textsOf(const std::vector<PlanDeviation>& list) {
  std::vector<std::string> texts;
  for (const PlanDeviation& each : list) {
    texts.push_back(toText(each.action) + " " + std::to_string(each.planned) + ">" +
                    std::to_string(each.measured) + " on rank " + std::to_string(each.rank));
  }
  return texts;
}

PlanDeviations between(const std::string& measured, const std::string& reference) {
  return findDeviations(readPlan(measured, "measured"), readPlan(reference, "reference"));
}

using Texts = std::vector<std::string>;

TEST(PlanDeviations, EqualPlansHaveNone) {
  const Plan plan = buildSchedule("ZBV", 4, 8);
  EXPECT_TRUE(findDeviations(plan, plan).isEmpty());
}

TEST(PlanDeviations, AJobThatRanLaterIsTheOnlyOneThatMoved) {
  const auto found =
      between("0F0,0B0,0F2,0F3,0F1,0B1,0B2,0B3\n", "0F0,0B0,0F1,0F2,0F3,0B1,0B2,0B3\n");
  EXPECT_EQ(textsOf(found.moved), (Texts{"0F1 2>4 on rank 0"}));
  EXPECT_TRUE(found.missing.empty());
  EXPECT_TRUE(found.extra.empty());
}

TEST(PlanDeviations, MissingAndExtraJobsAreApartAndMoveNoOthers) {
  const auto found = between("0F0,0F2,0B2,0B0,0F9\n1F0,1B0\n", "0F0,0F1,0F2,0B0,0B2\n1F0,1B0\n");
  EXPECT_EQ(textsOf(found.missing), (Texts{"0F1 1>-1 on rank 0"}));
  EXPECT_EQ(textsOf(found.extra), (Texts{"0F9 -1>4 on rank 0"}));
  ASSERT_EQ(found.moved.size(), 1U);
}

TEST(PlanDeviations, AJobThatRanTwiceIsExtraTheSecondTime) {
  const auto found = between("0F0,0B0,0F0\n", "0F0,0B0\n");
  EXPECT_EQ(textsOf(found.extra), (Texts{"0F0 -1>2 on rank 0"}));
  EXPECT_TRUE(found.moved.empty());
}

TEST(PlanDeviations, AJobOnAnotherRankIsMissingThereAndExtraHere) {
  const auto found = between("0F0,0B0,1F0\n1B0\n", "0F0,0B0\n1F0,1B0\n");
  EXPECT_EQ(textsOf(found.extra), (Texts{"1F0 -1>2 on rank 0"}));
  EXPECT_EQ(textsOf(found.missing), (Texts{"1F0 0>-1 on rank 1"}));
}

TEST(PlanDeviations, RankWithoutALogIsNotCompared) {
  Plan measured = buildSchedule("1F1B", 4, 8);
  measured.ranks[2].clear();
  EXPECT_TRUE(findDeviations(measured, buildSchedule("1F1B", 4, 8)).isEmpty());
}

TEST(PlanDeviations, TwoJobsThatChangedPlacesAreNamedAndNoOthers) {
  std::mt19937 random(5);
  for (const std::string& name : scheduleNames()) {
    if (name == "auto") continue;
    for (int round = 0; round < 20; ++round) {
      const Plan plan = buildSchedule(name, 4, 8);
      Plan measured = plan;
      const auto rank = random() % 4;
      auto& row = measured.ranks[rank];
      const std::size_t i = random() % (row.size() - 2);
      const std::size_t j = i + 2 + random() % (row.size() - 2 - i);
      std::swap(row[i], row[j]);
      const PlanDeviations found = findDeviations(measured, plan);
      const auto at = [&](std::size_t p) { return static_cast<int>(p); };
      EXPECT_EQ(found.moved,
                (std::vector<PlanDeviation>{{static_cast<int>(rank), row[i], at(j), at(i)},
                                            {static_cast<int>(rank), row[j], at(i), at(j)}}))
          << name;
      EXPECT_TRUE(found.missing.empty() && found.extra.empty());
    }
  }
}

}  // namespace
}  // namespace pipetrace
