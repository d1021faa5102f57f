// pipe-trace plan with replicas, and with the time that adding up their gradients takes.
#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(PlanCommand, ReplicasAreMoreRanksOfTheSameSizes) {
  const json plan = jsonOf("1F1B", {"--dp", "3"});
  EXPECT_EQ(plan.at("schedule").at("ranks"), 12);
  EXPECT_EQ(plan.at("schedule").at("replicas"), 3);
  EXPECT_EQ(plan.at("length_ns"), jsonOf("1F1B").at("length_ns"));
  EXPECT_THAT(planOf("1F1B", {"--dp", "3"}).out,
              StartsWith("1F1B, 3 replicas of 4 ranks, 8 micro-batches\n"));
  write("replicas.csv", planOf("1F1B", {"--dp", "3", "--csv", "-"}).out);
  const auto checked = [&](const char* ranks) {
    return this->plan({"--schedule-file", path("replicas.csv"), "--check", "--ranks", ranks});
  };
  EXPECT_EQ(checked("4").exitCode, 0) << checked("4").out;
  EXPECT_THAT(checked("5").out, HasSubstr("rank 4 is missing: the plan has 4 ranks"));
  expectError(
      planOf("1F1B", {"--dp", "2", "--transfers", "in-time", "--csv", "-", "--for", "torch"}),
      "its stages are on several ranks", "");
  expectError(planOf("1F1B", {"--dp", "0"}), "--dp", "");
}

TEST_F(PlanCommand, ReductionsOfReplicasCountWhereNothingHidesThem) {
  const json free = jsonOf("1F1B", {"--dp", "2"});
  const json plan = jsonOf("1F1B", {"--dp", "2", "--reduce-ms", "3"});
  // Rank 0 ends last, and nothing hides its reduction.
  EXPECT_EQ(plan.at("length_ns"), free.at("length_ns").get<std::int64_t>() + 3'000'000);
  EXPECT_EQ(plan.at("closed_form"), nullptr);
  EXPECT_EQ(plan.at("critical_path").back().at("action"), "0REDUCE_GRAD");
  const ProgramRun alone = planOf("1F1B", {"--reduce-ms", "3", "--json"});
  EXPECT_EQ(json::parse(alone.out).at("length_ns"), free.at("length_ns"));
  EXPECT_THAT(alone.err, HasSubstr("warning: --reduce-ms changes nothing: no stage of the plan is "
                                   "on several ranks"));
  EXPECT_EQ(planOf("DualPipe", {"--reduce-ms", "3"}).err, "");
  const json hidden = jsonOf("1F1B", {"--dp", "2", "--reduce-ms", "0,2,2,2"});
  EXPECT_EQ(hidden.at("length_ns"), free.at("length_ns"));
  EXPECT_THAT(planOf("DualPipe", {"--reduce-ms", "3", "--csv", "-"}).out,
              HasSubstr("0REDUCE_GRAD"));
}

TEST_F(PlanCommand, LastBackwardsInPartsHideTheReductionsOfAllPartsButTheLast) {
  const std::int64_t free = jsonOf("1F1B", {"--dp", "2"}).at("length_ns").get<std::int64_t>();
  const auto lengthOf = [&](const char* parts, const char* reduction) -> std::int64_t {
    return jsonOf("1F1B", {"--dp", "2", "--last-backward-parts", parts, "--reduce-ms", reduction})
        .at("length_ns")
        .get<std::int64_t>();
  };
  // A backward takes 2 ms.
  EXPECT_EQ(lengthOf("1", "1"), free + 1'000'000);
  EXPECT_EQ(lengthOf("2", "0.5"), free + 500'000);
  EXPECT_EQ(lengthOf("4", "0.25"), free + 250'000);
  const std::string csv =
      planOf("1F1B", {"--dp", "2", "--last-backward-parts", "2", "--reduce-ms", "1", "--csv", "-"})
          .out;
  EXPECT_THAT(csv, HasSubstr(",3B7.0,3REDUCE_GRAD0,3B7.1,3REDUCE_GRAD1\n"));
  write("parts.csv", csv);
  EXPECT_EQ(plan({"--schedule-file", path("parts.csv"), "--check"}).exitCode, 0);
  EXPECT_EQ(planOf("1F1B", {"--last-backward-parts", "2", "--job-list"}).out,
            planOf("1F1B", {"--job-list"}).out);
  expectError(planOf("1F1B", {"--last-backward-parts", "2", "--transfers", "in-time", "--csv", "-",
                              "--for", "torch"}),
              "torch has no backward in parts like", "");
  expectError(planOf("PipeDream", {"--last-backward-parts", "2"}), "without a flush", "");
}

// Parts of a run are measured as one backward, so that its plan is as long again.
TEST_F(PlanCommand, RunsWithPartsAreMeasuredAsIfTheyHadNone) {
  const std::string logs = path("logs") + "/";
  for (const char* const name : {"1F1B", "ZB-H1"}) {
    const auto planOfTwo = [&](std::vector<std::string> more) {
      more.insert(more.begin(), {"--schedule", name, "--ranks", "2", "--micro-batches", "2"});
      return this->plan(more);
    };
    ASSERT_EQ(planOfTwo({"--last-backward-parts", "3", "-o", logs}).exitCode, 0);
    const json measured = json::parse(planOfTwo({"--costs-from", logs, "--json"}).out);
    const json given = json::parse(planOfTwo({"--json"}).out);
    EXPECT_EQ(measured.at("length_ns"), given.at("length_ns")) << name;
    EXPECT_EQ(measured.at("costs").at("backward_ms"), given.at("costs").at("backward_ms"));
    EXPECT_THAT(run({"report", logs}).out, HasSubstr("schedule: " + std::string(name)));
  }
}

TEST_F(PlanCommand, ReductionsOfARunAreMeasuredAndPlannedAgain) {
  const std::string logs = path("logs") + "/";
  ASSERT_EQ(planOf("1F1B", {"--dp", "2", "--reduce-ms", "3,1,1,2", "-o", logs}).exitCode, 0);
  const json given = jsonOf("1F1B", {"--dp", "2", "--reduce-ms", "3,1,1,2"});
  const json measured = jsonOf("1F1B", {"--dp", "2", "--costs-from", logs});
  EXPECT_EQ(measured.at("length_ns"), given.at("length_ns"));
  EXPECT_EQ(measured.at("costs").at("reduce_ms"), given.at("costs").at("reduce_ms"));
  EXPECT_EQ(measured.at("windows_ns"), given.at("length_ns"));
}

// Two ranks take turns at stage 0, whose jobs are twice as long: both stages take as long.
TEST_F(PlanCommand, TheSlowestStageIsTheOneThatTakesLongestWithAllItsRanks) {
  const std::string logs = path("logs") + "/";
  const auto summaryOf = [&](const char* forward) {
    plan({"--schedule", "1F1B", "--stage-ranks", "0,1/2", "--micro-batches", "4", "--forward-ms",
          forward, "-o", logs});
    return run({logs}).out;
  };
  EXPECT_THAT(summaryOf("10,5"), Not(HasSubstr("is the slowest")));
  EXPECT_THAT(summaryOf("10,10"), HasSubstr("stage 1 is the slowest"));
}

// Nothing of a later step waits for the last jobs of a plan without a flush.
TEST_F(PlanCommand, SlackOfPlansWithoutAFlushIsNoLongerThanTheRun) {
  const std::string logs = path("logs") + "/";
  ASSERT_EQ(planOf("PipeDream", {"--optimizer-ms", "0.5", "--steps", "2", "-o", logs}).exitCode, 0);
  EXPECT_THAT(run({"report", logs}).out, Not(HasSubstr("1152921505")));
  const json report = json::parse(run({"report", logs, "--json", "--all"}).out);
  std::int64_t longest = 0;
  for (const json& job : report.at("slack")) {
    longest = std::max(longest, job.at("slack_ns").get<std::int64_t>());
  }
  EXPECT_LT(longest, 1'000'000'000);
}

TEST_F(PlanCommand, ChartsHaveReductionsAndNoMemoryThatNobodyGave) {
  const std::string picture = path("plan.svg");
  const auto made = planOf("1F1B", {"--dp", "2", "--reduce-ms", "3", "-o", picture});
  EXPECT_THAT(made.out, HasSubstr("rank 7 ------F0B0= F1B1="));
  EXPECT_THAT(made.out, HasSubstr(" sum___"));
  EXPECT_THAT(made.out, HasSubstr("sum adding up gradients"));
  EXPECT_THAT(contents(picture), HasSubstr(">all_reduce<"));
  EXPECT_THAT(contents(picture), testing::Not(HasSubstr("bytes")));
  planOf("1F1B", {"--activation-gb", "1", "-o", picture});
  EXPECT_THAT(contents(picture), HasSubstr("memory"));
}

TEST_F(PlanCommand, TheAgreementOfAllRanksHoldsUpTheStepsEnd) {
  const json free = jsonOf("1F1B");
  const json plan = jsonOf("1F1B", {"--agree-ms", "0.5"});
  EXPECT_EQ(plan.at("length_ns"), free.at("length_ns").get<std::int64_t>() + 500'000);
  EXPECT_EQ(plan.at("closed_form"), nullptr);
  EXPECT_EQ(plan.at("critical_path").back().at("action"), "AGREE");
  EXPECT_EQ(plan.at("costs").at("agree_ms"), 0.5);
  EXPECT_THAT(planOf("1F1B", {"--agree-ms", "1", "--csv", "-"}).out, HasSubstr("0B7,AGREE\n"));
  expectError(planOf("PipeDream", {"--agree-ms", "1"}), "--agree-ms: the plan PipeDream changes",
              "");
}

TEST_F(PlanCommand, BucketsAreReducedOneAfterTheOther) {
  EXPECT_THAT(planOf("1F1B", {"--dp", "2", "--buckets", "2", "--csv", "-"}).out,
              HasSubstr("0B7,0REDUCE_GRAD0,0REDUCE_GRAD1\n"));
  const json free = jsonOf("1F1B", {"--dp", "2"});
  const json plan = jsonOf("1F1B", {"--dp", "2", "--buckets", "2", "--reduce-ms", "3"});
  EXPECT_EQ(plan.at("length_ns"), free.at("length_ns").get<std::int64_t>() + 6'000'000);
  EXPECT_EQ(plan.at("critical_path").back().at("action"), "0REDUCE_GRAD1");
  EXPECT_THAT(planOf("1F1B", {"--buckets", "2", "--csv", "-"}).out, Not(HasSubstr("REDUCE")));
}

TEST_F(PlanCommand, StagesStandOnTheRanksThatTheMapSays) {
  const auto mapped = [](const char* map, std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"--schedule", "1F1B", "--stage-ranks", map, "--micro-batches", "5", "--csv", "-"});
    return PlanCommand::plan(more);
  };
  EXPECT_THAT(mapped("0,1/2").out, HasSubstr("0F1,0F3,0B1,0B3\n"));
  EXPECT_THAT(
      this->plan({"--schedule", "1F1B", "--stage-ranks", "0,1/2", "--micro-batches", "5"}).out,
      StartsWith("1F1B, 3 ranks, stages on ranks 0,1/2, 5 micro-batches\n"));
  EXPECT_THAT(mapped("0,1/2", {"--reduce-ms", "1"}).out, HasSubstr("0B3,0REDUCE_GRAD\n"));
  EXPECT_THAT(mapped("0,1/2", {"--stage-depths", "2,1"}).out, HasSubstr("1F0,1F1,1B0,1F2"));
  EXPECT_THAT(planOf("PipeDream", {"--stage-depths", "4,2,1,0", "--csv", "-"}).out,
              HasSubstr("0F0,0F1,0F2,0F3,0F4,0B0"));
  const auto ofPipeDream =
      plan({"--schedule", "PipeDream", "--stage-ranks", "0,1/2", "--micro-batches", "5", "--json"});
  EXPECT_EQ(json::parse(ofPipeDream.out).at("schedule").at("updates_every"), json({2, 1}));
  expectError(mapped("0,1/2", {"--stage-depths", "1"}), "depths of 1 stage, and the plan has 2",
              "");
  expectError(mapped("0,x"), "--stage-ranks 0,x", "0,1/2 for two ranks of stage 0");
  expectError(mapped("0,1/3"), "it leaves out rank 2", "");
  expectError(mapped("0,1/2", {"--ranks", "3"}), "--stage-ranks", "");
}

}  // namespace
}  // namespace pipetrace
