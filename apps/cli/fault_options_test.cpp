#include "apps/cli/fault_options.h"

#include <gmock/gmock.h>

#include "schedule/build_schedule.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

Costs read(const FaultOptions& options) {
  const Plan plan = withRecompute(buildSchedule("1F1B", 4, 8), {false, false, true});
  return withFaults(options, plan, 3,
                    Costs::equal(4, {.forward = 10, .backward = 20, .recompute = 10}));
}

std::string refusal(const FaultOptions& options) {
  try {
    read(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(FaultOptions, ScaleMultipliesTheTimesOfItsStage) {
  const Costs costs = read({.scales = {"stage=2:1.3"}});
  EXPECT_EQ(costs.stages[2].forward, 13);
  EXPECT_EQ(costs.stages[2].backward, 26);
  EXPECT_EQ(costs.stages[2].recompute, 13);
  EXPECT_EQ(costs.stages[2].forwardBackward, -1) << "as long as its parts, which are scaled";
  EXPECT_EQ(costs.stages[1].forward, 10);
}

TEST(FaultOptions, LinksDelaysAndLaunchesAreReadWithTheirUnits) {
  const Costs costs =
      read({.links = {"2-1=4ms"}, .delays = {"1F4@2=1.5s"}, .launches = {"2B5=15us", "2R0=20ns"}});
  EXPECT_EQ(costs.transferBetween(1, 2), 4 * kNsPerMs);
  EXPECT_EQ(costs.transferBetween(2, 1), 4 * kNsPerMs);
  EXPECT_EQ(costs.transferBetween(0, 1), 0);
  ASSERT_THAT(costs.faults.jobs, SizeIs(3));
  EXPECT_EQ(costs.faults.of({JobKind::kForward, 1, 4}, 2).longer, 1500 * kNsPerMs);
  EXPECT_EQ(costs.faults.of({JobKind::kForward, 1, 4}, 1).longer, 0);
  EXPECT_EQ(costs.faults.of({JobKind::kBackward, 2, 5}, 0).late, 15 * kNsPerUs);
  EXPECT_EQ(costs.faults.of({JobKind::kRecompute, 2, 0}, 1).late, 20);
}

TEST(FaultOptions, FactorsOfAStageMultiplyAndTimesOfAJobAddUp) {
  const Costs costs = read({.scales = {"stage=2:1.5", "stage=2:2"},
                            .delays = {"1F4=1ms", "1F4@2=2ms"},
                            .launches = {"1F4=3ms", "1F4=4ms"}});
  EXPECT_EQ(costs.stages[2].forward, 30);
  EXPECT_EQ(costs.faults.of({JobKind::kForward, 1, 4}, 2).longer, 3 * kNsPerMs);
  EXPECT_EQ(costs.faults.of({JobKind::kForward, 1, 4}, 0).longer, 1 * kNsPerMs);
  EXPECT_EQ(costs.faults.of({JobKind::kForward, 1, 4}, 0).late, 7 * kNsPerMs);
}

TEST(FaultOptions, ALinkGivenTwiceIsAnErrorWhicheverRankComesFirst) {
  EXPECT_EQ(
      refusal({.links = {"1-2=4ms", "2-1=8ms"}}),
      "--link 2-1=8ms: the link between ranks 1 and 2 is given twice; it is one for both ways");
  EXPECT_EQ(read({.links = {"1-2=4ms", "2-3=8ms"}}).faults.links.size(), 2U);
}

TEST(FaultOptions, AJobInsideAFusedPairIsRefusedWithThePairsName) {
  const Plan plan = buildSchedule("DualPipeV", 4, 10);
  const Costs costs = Costs::equal(8, {10, 20});
  const auto refusalOf = [&](const std::string& delay) -> std::string {
    try {
      withFaults({.delays = {delay}}, plan, 1, costs);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusalOf("0F7=30ms"),
            "--delay 0F7=30ms: 0F7 is no job of its own in this plan; write the fused pair that "
            "holds it: '(0F7;7B3)OVERLAP_F_B'");
  EXPECT_THAT(refusalOf("7B3=30ms"), HasSubstr("'(0F7;7B3)OVERLAP_F_B'"));
  EXPECT_EQ(refusalOf("(0F7;7B3)OVERLAP_F_B=30ms"), "");
}

TEST(FaultOptions, AllAreListedWithTheirOptions) {
  const FaultOptions options{.scales = {"stage=2:1.3"}, .delays = {"1F4@2=30ms"}};
  EXPECT_THAT(options.all(), testing::ElementsAre("--scale stage=2:1.3", "--delay 1F4@2=30ms"));
}

TEST(FaultOptions, FaultsThatThePlanCannotHaveAreErrorsThatSayWhy) {
  EXPECT_EQ(refusal({.scales = {"stage=4:2"}}), "--scale stage=4:2: the plan has stages 0 to 3");
  EXPECT_EQ(refusal({.links = {"0-4=1ms"}}), "--link 0-4=1ms: the plan has ranks 0 to 3");
  EXPECT_EQ(refusal({.links = {"0-2=1ms"}}),
            "--link 0-2=1ms: no message moves between ranks 0 and 2");
  EXPECT_EQ(refusal({.links = {"0=1ms"}}), "--link 0=1ms: write it as 1-2=4ms, with the two ranks");
  EXPECT_EQ(refusal({.delays = {"1F4=30"}}),
            "--delay 1F4=30: write it as 1F4@2=30ms, with ns, us, ms or s");
  EXPECT_EQ(refusal({.delays = {"1F8=1ms"}}), "--delay 1F8=1ms: the plan has no job 1F8");
  EXPECT_EQ(refusal({.delays = {"1F4@3=1ms"}}), "--delay 1F4@3=1ms: the steps are 0 to 2");
  EXPECT_EQ(refusal({.delays = {"1F4@x=1ms"}}),
            "--delay 1F4@x=1ms: after the @ stands the number of a step");
  EXPECT_THAT(refusal({.launches = {"forward=1ms"}}),
              AllOf(StartsWith("--launch forward=1ms: "), HasSubstr("is no job")));
}

/// "host0 host1+5000000+20000": the hosts by rank, with offset and drift of their clocks.
std::string hosts(const std::vector<std::string>& skews, int numRanks = 4) {
  std::string text;
  try {
    for (const MadeUpHost& host : madeUpHosts({.skews = skews}, numRanks)) {
      text += (text.empty() ? "" : " ") + host.name;
      if (host.skew.isZero()) continue;
      text += "+" + std::to_string(host.skew.offset) + "+" + std::to_string(host.skew.drift);
    }
  } catch (const Error& error) {
    return error.what();
  }
  return text;
}

TEST(FaultOptions, MadeUpHostsShareTheRanksEvenly) {
  EXPECT_EQ(hosts({}), "");
  EXPECT_EQ(hosts({"a=0ms", "b=5ms,20ppm"}), "a a b+5000000+20000 b+5000000+20000");
  EXPECT_EQ(hosts({"a=-5us", "b=1s,-0.5ppm", "c=7ns"}),
            "a+-5000+0 a+-5000+0 b+1000000000+-500 c+7+0");
  EXPECT_EQ(hosts({"a=0ns", "b=0ns", "c=0ns"}, 8), "a a a b b b c c");
  EXPECT_EQ(hosts({"far=5ms"}), "host0 host0 far+5000000+0 far+5000000+0")
      << "the ranks before a single one have a clock that is right";
}

TEST(FaultOptions, SkewsThatMakeNoSenseAreErrorsThatSayWhy) {
  for (const char* const text : {"host1", "=5ms", "a b=5ms", "a=5", "a=5ms,", "a=5ms,20",
                                 "a=5ms,1001ppm", "a=,20ppm", "a=5ms,20ppm,"}) {
    EXPECT_THAT(hosts({text}), StartsWith(std::string("--skew ") + text + ": write it as host1="));
  }
  EXPECT_EQ(hosts({"a=90000s"}), "--skew a=90000s: that is over a day");
  EXPECT_EQ(hosts({"a=1ms", "a=2ms"}), "--skew a=2ms: this host is there already");
  EXPECT_THAT(hosts({"host0=1ms"}), HasSubstr("take another name"));
  EXPECT_EQ(hosts({"a=1ms"}, 1), "--skew a=1ms: there are 2 hosts, and 1 rank for them");
}

}  // namespace
}  // namespace pipetrace
