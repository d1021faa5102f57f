// Planted faults of pipe-trace plan: what they do to its figures.
#include <gmock/gmock.h>

#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class PlanFaults : public PlanCommand {
 protected:
  static std::vector<std::string> timesAnd(std::vector<std::string> more) {
    more.insert(more.begin(), {"--forward-ms", "10", "--backward-ms", "20"});
    return more;
  }
};

TEST_F(PlanFaults, LateLaunchIsBesideItsJobOnTheCriticalPath) {
  const json plan = jsonOf("1F1B", timesAnd({"--launch", "2F5=15ms"}));
  const json& path = plan.at("critical_path");
  json launch;
  json job;
  for (const json& link : path) {
    if (link.at("action") == "2F5") (link.at("kind") == "launch" ? launch : job) = link;
  }
  EXPECT_EQ(launch.at("begin_ns"), 170'000'000);
  EXPECT_EQ(launch.at("end_ns"), 185'000'000);
  EXPECT_EQ(launch.at("reason"), "rank was busy");
  EXPECT_EQ(job.at("kind"), "forward");
  EXPECT_EQ(job.at("begin_ns"), 185'000'000);
  EXPECT_EQ(job.at("end_ns"), 195'000'000);
  EXPECT_EQ(job.at("reason"), "launched late");
  const std::string text = planOf("1F1B", timesAnd({"--launch", "2F5=15ms"})).out;
  EXPECT_THAT(text, HasSubstr("forward 110.0 ms, backward 220.0 ms, launch 15.00 ms"));
  EXPECT_THAT(text, HasSubstr("with planted faults: --launch 2F5=15ms\n"));
}

TEST_F(PlanFaults, TimeBeforeTheFirstJobIsInTheLengthAndInNoWindow) {
  const json plan = jsonOf("1F1B", timesAnd({"--launch", "0F0=15ms"}));
  EXPECT_EQ(plan.at("length_ns"), 345'000'000);
  EXPECT_EQ(plan.at("windows_ns"), 330'000'000);
  Nanoseconds idle = 0;
  for (const json& rank : plan.at("ranks")) idle += rank.at("idle_ns").get<Nanoseconds>();
  EXPECT_NEAR(plan.at("bubble_ratio"), static_cast<double>(idle) / (4 * 330e6), 1e-12);
  EXPECT_THAT(
      planOf("1F1B", timesAnd({"--launch", "0F0=15ms"})).out,
      HasSubstr("length 345.0 ms, windows of steps 330.0 ms, bubble ratio 0.2727, span bubble"));
  EXPECT_THAT(planOf("1F1B", timesAnd({})).out, Not(HasSubstr("windows")));
}

TEST_F(PlanFaults, CostsInJsonAreThoseGivenSoThatTheSameFaultsGiveTheSamePlan) {
  const json plan = jsonOf("1F1B", timesAnd({"--scale", "stage=2:1.3"}));
  EXPECT_EQ(plan.at("costs").at("forward_ms"), 10);
  EXPECT_EQ(plan.at("faults"), json::array({"--scale stage=2:1.3"}));
  write("costs.json", plan.at("costs").dump());
  const json again = jsonOf("1F1B", {"--costs", path("costs.json"), "--scale", "stage=2:1.3"});
  EXPECT_EQ(again, plan);
  EXPECT_GT(plan.at("length_ns"), 330'000'000);
}

TEST_F(PlanFaults, CheckRefusesFaultsThatThePlanCannotHave) {
  for (const char* scale : {"stage=9:1.3", "stage=2:0"}) {
    const ProgramRun result = planOf("1F1B", {"--scale", scale, "--check"});
    EXPECT_EQ(result.exitCode, 2) << scale;
    EXPECT_THAT(result.err, HasSubstr("--scale " + std::string(scale)));
  }
  EXPECT_EQ(planOf("1F1B", {"--scale", "stage=2:1.3", "--check"}).exitCode, 0);
}

}  // namespace
}  // namespace pipetrace
