#include "schedule/build_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "schedule/builders/placements.h"
#include "schedule/builders/schedules.h"
#include "schedule/check/check.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

TEST(BuildSchedule, EveryNameBuildsAPlanThatRunsForAllSizes) {
  for (const ScheduleInfo& info : knownSchedules()) {
    const bool searches = info.name == "auto";  // its own test tries more sizes
    for (int p = 1; p <= (searches ? 4 : 8); ++p) {
      for (int m = 1; m <= (searches ? 6 : 16); ++m) {
        for (int v = info.leastChunks; v <= std::min(4, info.mostChunks); ++v) {
          SCOPED_TRACE(std::string(info.name) + " p=" + std::to_string(p) +
                       " m=" + std::to_string(m) + " v=" + std::to_string(v));
          const Plan plan = buildSchedule(info.name, {p, m, v});
          ASSERT_TRUE(plan.name.starts_with(info.name));
          ASSERT_EQ(plan.numRanks(), p);
          ASSERT_EQ(plan.numMicroBatches, m);
          ASSERT_EQ(plan.numStages, p * v);
          ASSERT_EQ(plan.isAsynchronous(), info.isAsynchronous);
          const auto problems = check(plan);
          ASSERT_TRUE(problems.empty()) << toText(problems.front());
        }
      }
    }
  }
}

// Well under a second each where nothing else runs (docs/performance.md); a quadratic step anywhere
// takes minutes. It is processor time, as other tests run beside this one.
TEST(BuildSchedule, SixtyFourRanksWithAThousandMicroBatchesTakeSeconds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers are slow";
#endif
  for (const ScheduleInfo& info : knownSchedules()) {
    const std::clock_t begin = std::clock();
    const Plan plan = buildSchedule(info.name, {64, 1024});
    EXPECT_TRUE(check(plan).empty());
    simulate(CheckedPlan(plan), Costs::equal(plan.numStages, {1, 2, 1, 1}));
    const std::clock_t taken = std::clock() - begin;
    EXPECT_LT(static_cast<double>(taken) / CLOCKS_PER_SEC, 10.0) << info.name;
  }
}

std::string nameOf(std::string_view alias) { return buildSchedule(alias, 2, 2).name; }

TEST(BuildSchedule, NamesAreTakenInAnyCaseWithOrWithoutDashes) {
  EXPECT_EQ(nameOf("gpipe"), "GPipe");
  EXPECT_EQ(nameOf("1f1b"), "1F1B");
  EXPECT_EQ(nameOf("f-then-b"), "FThenB");
  EXPECT_EQ(nameOf("FTHENB"), "FThenB");
  EXPECT_EQ(nameOf("zb_h1"), "ZB-H1");
  EXPECT_EQ(nameOf("looped bfs"), "LoopedBFS");
}

TEST(BuildSchedule, OtherProjectsNamesAreUnderstood) {
  EXPECT_EQ(nameOf("ScheduleGPipe"), "FThenB");  // torch's GPipe runs backwards in order
  EXPECT_EQ(nameOf("Schedule1F1B"), "1F1B");
  EXPECT_EQ(nameOf("ScheduleInterleaved1F1B"), "Interleaved1F1B");
  EXPECT_EQ(nameOf("ScheduleLoopedBFS"), "LoopedBFS");
  EXPECT_EQ(nameOf("ScheduleInterleavedZeroBubble"), "InterleavedZeroBubble");
  EXPECT_EQ(nameOf("ScheduleDualPipeV"), "DualPipeV");
  EXPECT_EQ(nameOf("VPP"), "Interleaved1F1B");  // PaddlePaddle
  EXPECT_EQ(nameOf("ZBH1"), "ZB-H1");
  EXPECT_EQ(nameOf("ZB1P"), "ZB-H1");  // the Zero Bubble paper's
  EXPECT_EQ(nameOf("forward_backward_pipelining_with_interleaving"), "Interleaved1F1B");
  EXPECT_EQ(nameOf("dualpipev"), "DualPipeV");  // MindSpeed
}

TEST(BuildSchedule, EveryAliasMeansOneSchedule) {
  for (const ScheduleInfo& info : knownSchedules()) {
    EXPECT_TRUE(nameOf(info.name).starts_with(info.name));
    for (const std::string_view alias : info.aliasList()) {
      EXPECT_TRUE(nameOf(alias).starts_with(info.name)) << alias << " is " << nameOf(alias);
    }
  }
}

std::string refusalOf(std::string_view name, const PlanSize& size) {
  try {
    buildSchedule(name, size);
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(BuildSchedule, UnknownNameIsAnErrorThatListsTheKnownOnes) {
  for (const char* name : {"zigzag", "", "-"}) {
    const std::string error = refusalOf(name, {2, 2});
    EXPECT_TRUE(error.starts_with("no schedule is called \"" + std::string(name) +
                                  "\"; choose one of " + scheduleNames().front() + ", "))
        << error;
    for (const std::string& known : scheduleNames()) {
      EXPECT_NE(error.find(known), std::string::npos) << known;
    }
  }
}

TEST(BuildSchedule, NoRanksMicroBatchesOrChunksIsAnError) {
  for (const std::string& name : scheduleNames()) {
    for (const PlanSize& size :
         {PlanSize{0, 4}, PlanSize{-1, 4}, PlanSize{4, 0}, PlanSize{4, -3}, PlanSize{2, 2, -1}}) {
      EXPECT_THROW(buildSchedule(name, size), Error) << name;
    }
  }
}

TEST(BuildSchedule, SizesFarAboveAnyPlanAreErrorsBeforeTheyFillTheMemory) {
  for (const std::string& name : scheduleNames()) {
    EXPECT_NE(refusalOf(name, {2'000'000'000, 2'000'000'000}).find("is a number too large?"),
              std::string::npos)
        << name;
  }
}

TEST(BuildSchedule, TooManyChunksAreAnErrorThatNamesAScheduleWithMore) {
  EXPECT_EQ(refusalOf("1F1B", {4, 8, 2}),
            "cannot plan 1F1B with 2 chunks per rank: it has one; with more, try Interleaved1F1B");
  EXPECT_EQ(refusalOf("GPipe", {4, 8, 3}),
            "cannot plan GPipe with 3 chunks per rank: it has one; with more, try LoopedBFS");
  EXPECT_EQ(refusalOf("DualPipeV", {4, 8, 1}),
            "cannot plan DualPipeV with 1 chunk per rank: it has 2");
}

TEST(BuildSchedule, AutoUsesTheGivenCostsAndLimit) {
  AutoInput input{.costs = Costs::equal(4, {.forward = 3,
                                            .backward = 5,
                                            .backwardInput = 3,
                                            .backwardWeight = 2,
                                            .activation = 10})};
  const auto peakOf = [&] {
    const Plan plan = buildSchedule("auto", {4, 8}, input);
    std::int64_t peak = 0;
    for (const DryRun::Rank& rank : dryRun(CheckedPlan(plan), input.costs).ranks) {
      peak = std::max(peak, rank.peakMemory);
    }
    return peak;
  };
  EXPECT_GT(peakOf(), 40);
  input.memoryLimit = 40;
  EXPECT_LE(peakOf(), 40);
}

// A row that is not complete does not compile; these are the rules for that.
TEST(ScheduleRow, APartThatIsMissingOrContradictsAnotherIsFound) {
  for (const ScheduleInfo& info : knownSchedules()) EXPECT_TRUE(info.isComplete()) << info.name;
  const auto changed = [](const char* name, auto change) {
    ScheduleInfo info = scheduleInfo(name);
    change(info);
    return info.isComplete();
  };
  EXPECT_FALSE(ScheduleInfo().isComplete());
  EXPECT_FALSE(changed("1F1B", [](ScheduleInfo& info) { info.summary = ""; }));
  EXPECT_FALSE(changed("1F1B", [](ScheduleInfo& info) { info.summary = "a full stop."; }));
  EXPECT_FALSE(changed("1F1B", [](ScheduleInfo& info) { info.build = nullptr; }));
  EXPECT_FALSE(changed("1F1B", [](ScheduleInfo& info) { info.chunkedKin = nullptr; }));
  EXPECT_FALSE(changed("1F1B", [](ScheduleInfo& info) { info.closedForm = nullptr; }));
  EXPECT_FALSE(changed("1F1B", [](ScheduleInfo& info) { info.usualChunks = 2; }));
  EXPECT_FALSE(changed("1F1B", [](ScheduleInfo& info) { info.places = StagePlaces::kVShaped; }));
  EXPECT_FALSE(changed("1F1B", [](ScheduleInfo& info) { info.onStageRanks = nullptr; }));
  EXPECT_FALSE(changed("ZB-H1", [](ScheduleInfo& info) { info.torch = ""; }));
  EXPECT_FALSE(changed("LoopedBFS", [](ScheduleInfo& info) { info.becomesChunkedKin = true; }));
  EXPECT_FALSE(changed("LoopedBFS", [](ScheduleInfo& info) { info.ofChunkedKin = ", too"; }));
  EXPECT_FALSE(changed("auto", [](ScheduleInfo& info) { info.search = nullptr; }));
  EXPECT_FALSE(changed("auto", [](ScheduleInfo& info) { info.dependsOnCosts = false; }));
}

TEST(ScheduleRow, TheDefaultIsOneOfThem) {
  EXPECT_EQ(scheduleInfo(schedules::kDefault).name, schedules::kOneFOneB.name);
}

TEST(ScheduleRow, AliasesAreAListOfNames) {
  const ScheduleInfo info{.aliases = "AFAB, Fill-Drain"};
  EXPECT_EQ(info.aliasList(), (std::vector<std::string_view>{"AFAB", "Fill-Drain"}));
  EXPECT_TRUE(ScheduleInfo().aliasList().empty());
}

TEST(ScheduleRow, StagesInBothDirectionsMayHaveChunks) {
  const auto planned = [](StagePlaces places) {
    return emptyPlan({.name = "both", .places = places, .isBidirectional = true}, {4, 7, 2});
  };
  EXPECT_EQ(toText(planned(StagePlaces::kLooped).placement.ranksOfStage),
            "0,3/1,2/2,1/3,0/0,3/1,2/2,1/3,0");
  EXPECT_EQ(toText(planned(StagePlaces::kVShaped).placement.ranksOfStage),
            "0,3/1,2/2,1/3,0/3,0/2,1/1,2/0,3");
  for (const StagePlaces places : {StagePlaces::kLooped, StagePlaces::kVShaped}) {
    EXPECT_EQ(planned(places).placement.run, 4);
    EXPECT_TRUE(planned(places).isBidirectional());
    EXPECT_EQ(planned(places).chunksOfDirection(), 2);
  }
  EXPECT_EQ(buildSchedule("DualPipe", 4, 8).chunksOfDirection(), 1);
  EXPECT_EQ(buildSchedule("ZBV", 4, 8).chunksOfDirection(), 2);
}

TEST(BuildSchedule, ChunksLeftOpenAreTheUsualOnes) {
  EXPECT_EQ(buildSchedule("Interleaved1F1B", 2, 4).numStages, 4);
  EXPECT_EQ(buildSchedule("DualPipeV", 2, 4).numStages, 4);
  EXPECT_EQ(buildSchedule("1F1B", 2, 4).numStages, 2);
}

}  // namespace
}  // namespace pipetrace
