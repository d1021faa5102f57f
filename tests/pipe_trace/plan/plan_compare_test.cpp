// pipe-trace plan --compare, and plans of the size and schedule of a run.
#include <algorithm>

#include "schedule/build_schedule.h"
#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Milliseconds of 24, and GB of 12, split over chunks.
std::vector<std::string> costsOfChunk(int chunks) {
  const auto part = [&](int whole) { return std::to_string(whole / chunks); };
  return {"--forward-ms",         part(24), "--backward-input-ms", part(36),
          "--backward-weight-ms", part(12), "--transfer-ms",       "1",
          "--optimizer-ms",       "5",      "--activation-gb",     part(12),
          "--weights-gb",         part(24)};
}

class CompareCommand : public PlanCommand {
 protected:
  static json compared(std::vector<std::string> more) {
    more.insert(more.begin(), {"--compare", "--json"});
    const ProgramRun result = plan(more);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return json::parse(result.out);
  }
  static json compared(int ranks, int microBatches, std::vector<std::string> more) {
    more.insert(more.begin(), {"--ranks", std::to_string(ranks), "--micro-batches",
                               std::to_string(microBatches)});
    return compared(more);
  }
  /// The plan of a row, by `pipe-trace plan` with the costs of its chunks.
  static json planOfRow(const json& row, std::vector<std::string> more) {
    const std::vector<std::string> costs = costsOfChunk(row.at("chunks"));
    more.insert(more.end(), costs.begin(), costs.end());
    more.insert(more.end(), {"--chunks", std::to_string(row.at("chunks").get<int>())});
    return jsonOf(row.at("schedule"), more);
  }
};

TEST_F(CompareCommand, EachRowHasTheFiguresOfItsPlan) {
  const json table = compared(4, 8, costsOfChunk(1));
  ASSERT_EQ(table.at("plans").size(), 33U);
  for (const json& row : table.at("plans")) {
    const json own = planOfRow(row, {});
    EXPECT_EQ(row.at("length_ns"), own.at("length_ns")) << row;
    EXPECT_NEAR(row.at("bubble_ratio"), own.at("bubble_ratio"), 1e-12) << row;
    EXPECT_EQ(row.at("fingerprint"), own.at("schedule").at("fingerprint")) << row;
    const std::vector<int> peaks = peaksOf(own);
    EXPECT_EQ(row.at("peak_activations"),
              *std::max_element(peaks.begin(), peaks.end()) / row.at("chunks").get<double>());
    std::int64_t memory = 0;
    for (const json& rank : own.at("ranks")) {
      memory = std::max(memory, rank.at("peak_memory_bytes").get<std::int64_t>());
    }
    EXPECT_EQ(row.at("peak_memory_bytes"), memory) << row;
  }
}

TEST_F(CompareCommand, WithMessagesInLineEachRowIsTheShorterOneOfBothOrders) {
  std::vector<std::string> options = costsOfChunk(1);
  options.insert(options.end(), {"--comm-streams", "rank", "--chunks", "2"});
  const json table = compared(4, 8, options);
  for (const json& row : table.at("plans")) {
    const auto length = [&](const char* order) {
      return planOfRow(row, {"--comm-streams", "rank", "--transfers", order}).at("length_ns");
    };
    const json inTime = length("in-time");
    const json torch = length("torch");
    EXPECT_EQ(row.at("length_ns"), std::min(inTime, torch)) << row;
    EXPECT_EQ(row.at("in_time_ns"), inTime) << row;
    EXPECT_EQ(row.at("torch_order_ns"), torch) << row;
  }
}

TEST_F(CompareCommand, ALimitOfActivationsGivesThePlanOfAsManyGigabytes) {
  const json table = compared(4, 8, {"--limit-activations", "4", "--forward-ms", "3"});
  bool found = false;
  for (const json& row : table.at("plans")) {
    if (row.at("schedule") != "auto" || row.at("chunks") != 1) continue;
    found = true;
    const json own = jsonOf("auto", {"--activation-gb", "1", "--limit", "4", "--forward-ms", "3"});
    EXPECT_EQ(row.at("fingerprint"), own.at("schedule").at("fingerprint"));
    EXPECT_EQ(row.at("length_ns"), own.at("length_ns"));
  }
  EXPECT_TRUE(found);
}

TEST_F(CompareCommand, TheTableHasEveryPlanAndSaysWhatIsLeftOut) {
  const ProgramRun result =
      plan({"--compare", "--ranks", "4", "--micro-batches", "8", "--limit-activations", "4"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("4 ranks, 8 micro-batches, the shortest step first\n"),
                    HasSubstr("33.00000 ms"), HasSubstr("27.00000 ms"), HasSubstr(", no flush"),
                    HasSubstr("\nno flush: the steps of PipeDream, PipeDream-2BW are of a batch "
                              "alone"),
                    HasSubstr("batch more adds 24.00 ms\n"),
                    HasSubstr("left out, over the limit: FThenB, GPipe with 1 chunk (8.00 "
                              "activations on rank 0);"),
                    HasSubstr("left out, nothing is trained: ForwardOnly\n"),
                    Not(HasSubstr("peak memory"))));
}

TEST_F(CompareCommand, OptionsThatLeaveTheSizeOpenOrDoNotGoTogetherAreErrors) {
  expectError(plan({"--compare"}), "--compare", "--ranks P and --micro-batches M");
  expectError(plan({"--chunks", "2"}), "--chunks", "--schedule or --compare");
  const std::vector<std::string> size = {"--compare", "--ranks", "2", "--micro-batches", "2"};
  const auto refused = [&](std::vector<std::string> more, const char* subject, const char* what) {
    more.insert(more.begin(), size.begin(), size.end());
    expectError(plan(more), subject, what);
  };
  refused({"--limit-activations", "0"}, "--limit-activations 0", "holds less than one");
  refused({"--limit-activations", "x"}, "--limit-activations x", "written like 10 or 0.25");
  refused({"--limit", "2"}, "--limit", "what activations take");
  refused({"--forward-ms", "1,2,3"}, "costs for 3 stages", "the schedule has 2");
  write("costs.json", R"({"forward_ms": 1, "activation_bytes": 5})");
  refused({"--costs", path("costs.json"), "--limit-activations", "2"}, "--limit-activations",
          "give --limit GB");
  write("jobs.json", R"({"forward_ms": 1, "jobs_ms": {"0F0": 5}})");
  refused({"--costs", path("jobs.json")}, "jobs_ms", "cannot be compared");
  for (const char* option : {"--schedule=1F1B", "--dp=2", "--scale=stage=1:2", "--csv=a.csv"}) {
    std::vector<std::string> arguments = size;
    arguments.emplace_back(option);
    EXPECT_EQ(plan(arguments).exitCode, 2) << option;
  }
}

TEST_F(CompareCommand, ARunSaysItsOwnStagesMicroBatchesAndSchedule) {
  ASSERT_EQ(
      planOf("Interleaved1F1B", {"--forward-ms", "1,2,3,4,5,6,7,8", "-o", path("run/")}).exitCode,
      0);
  const ProgramRun own = plan({"--costs-from", path("run"), "--json"});
  ASSERT_EQ(own.exitCode, 0) << own.err;
  const json given = jsonOf("Interleaved1F1B", {"--forward-ms", "1,2,3,4,5,6,7,8"});
  EXPECT_EQ(json::parse(own.out).at("schedule"), given.at("schedule"));
  EXPECT_EQ(json::parse(own.out).at("length_ns"), given.at("length_ns"));
  // A share is that of two stages in the model's order, 0 and 1, though 0 and 4 are on rank 0.
  json shares = compared({"--costs-from", path("run")});
  EXPECT_EQ(shares.at("run").at("step_ns"), given.at("length_ns"));
  EXPECT_EQ(shares.at("run").at("schedule"), "Interleaved1F1B");
  shares.erase("run");
  EXPECT_EQ(shares, compared(4, 8, {"--forward-ms", "3,7,11,15"}));
  // Another schedule takes the chunks of the run, if it can have them.
  const ProgramRun other = plan({"--costs-from", path("run"), "--schedule", "ZBV", "--json"});
  ASSERT_EQ(other.exitCode, 0) << other.err;
  EXPECT_EQ(json::parse(other.out).at("schedule").at("micro_batches"), 8);
}

TEST_F(CompareCommand, RunsWithoutStepsOrBackwardsOfTheirOwnAreNotComparedAsIfTheyHadThem) {
  ASSERT_EQ(
      planOf("PipeDream", {"--optimizer-ms", "1", "--steps", "4", "-o", path("async/")}).exitCode,
      0);
  EXPECT_FALSE(compared({"--costs-from", path("async")}).contains("run"));
  ASSERT_EQ(planOf("ForwardOnly", {"-o", path("forwards/")}).exitCode, 0);
  expectError(plan({"--compare", "--costs-from", path("forwards")}), "has no backward passes",
              "--backward-ms");
}

TEST_F(CompareCommand, CostsOfARunWithReplicasAreThoseOfTheSlowestOneWithItsReductions) {
  const std::vector<std::string> costs = {"--forward-ms",   "10", "--backward-ms", "20",
                                          "--optimizer-ms", "2",  "--reduce-ms",   "15"};
  std::vector<std::string> logged = costs;
  logged.insert(logged.end(), {"--dp", "2", "--scale", "rank=5:1.5", "--steps", "3", "-o"});
  logged.push_back(path("run/"));
  ASSERT_EQ(planOf("1F1B", logged).exitCode, 0);
  const json table = compared({"--costs-from", path("run")});
  EXPECT_EQ(table.at("run").at("replica"), 1);
  EXPECT_EQ(table.at("run").at("replicas"), 2);
  // Rank 1 of a pipeline of 1F1B is the slow one: as a slow stage of one pipeline, with the
  // reductions at the end, on which nothing else waits.
  const json one = jsonOf("1F1B", {"--forward-ms", "10,15,10,10", "--backward-ms", "20,30,20,20",
                                   "--optimizer-ms", "17"});
  const auto row = std::find_if(
      table.at("plans").begin(), table.at("plans").end(),
      [](const json& plan) { return plan.at("schedule") == "1F1B" && plan.at("chunks") == 1; });
  ASSERT_NE(row, table.at("plans").end());
  EXPECT_NEAR(row->at("length_ns").get<double>(), one.at("length_ns").get<double>(), 1e3);
  EXPECT_NEAR(row->at("length_ns").get<double>(), table.at("run").at("step_ns").get<double>(), 1e3);
  EXPECT_THAT(plan({"--compare", "--costs-from", path("run")}).out,
              HasSubstr("the costs are those of replica 1 of 2, whose jobs end last"));
  const json larger = compared({"--costs-from", path("run"), "--micro-batches", "16"}).at("run");
  EXPECT_EQ(larger.at("replica"), 1);
  EXPECT_TRUE(larger.at("step_ns").is_null()) << "no plan is of the size of the run";
}

TEST_F(CompareCommand, ASlowRankAndASlowLinkOfARunStayWhereTheyAreUnderOtherSchedules) {
  const auto costs = [](const char* forward, const char* backward, const char* optimizer) {
    return std::vector<std::string>{"--forward-ms",  forward, "--backward-ms",  backward,
                                    "--transfer-ms", "0.2",   "--optimizer-ms", optimizer};
  };
  std::vector<std::string> logged = costs("12", "24", "2");
  logged.insert(logged.end(), {"--dp", "2", "--reduce-ms", "3", "--scale", "rank=5:1.4", "--link",
                               "5-6=6ms", "--steps", "3", "-o", path("run/")});
  ASSERT_EQ(planOf("1F1B", logged).exitCode, 0);
  const json table = compared({"--costs-from", path("run")});
  int found = 0;
  for (const json& row : table.at("plans")) {
    const int chunks = row.at("chunks");
    const std::string name = row.at("schedule");
    if (name == "auto" || row.at("messages") == 0 || (chunks != 1 && chunks != 4)) continue;
    if (row.at("asynchronous") == true) continue;
    std::vector<std::string> own = chunks == 1 ? costs("12", "24", "5") : costs("3", "6", "5");
    own.insert(own.end(),
               {"--chunks", std::to_string(chunks), "--scale", "rank=1:1.4", "--link", "1-2=6ms"});
    const double expected = jsonOf(name, own).at("length_ns");
    EXPECT_NEAR(row.at("length_ns").get<double>(), expected, 1e-3 * expected) << row;
    ++found;
  }
  EXPECT_GE(found, 6);
}

TEST_F(CompareCommand, ASlowLinkOfARunIsInThePlanOfItsCosts) {
  const auto lengthWith = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--chunks", "2"});
    return jsonOf("Interleaved1F1B", more).at("length_ns").get<double>();
  };
  const std::vector<std::string> halves = {"--forward-ms",  "1",  "--backward-ms", "2",
                                           "--transfer-ms", "0.2"};
  ASSERT_EQ(planOf("Interleaved1F1B", {"--chunks", "2", "--transfer-ms", "0.2", "--link", "1-2=6ms",
                                       "-o", path("chunks/")})
                .exitCode,
            0);
  std::vector<std::string> slow = halves;
  slow.insert(slow.end(), {"--link", "1-2=6ms"});
  EXPECT_NEAR(lengthWith({"--costs-from", path("chunks")}), lengthWith(slow), 1e3);
  EXPECT_NEAR(lengthWith({"--costs-from", path("chunks"), "--link", "1-2=0.2ms"}),
              lengthWith(halves), 1e3)
      << "--link comes after the run's";
}

TEST_F(CompareCommand, RanksThatTakeTurnsArePlannedAsInTheirRunAndNotCompared) {
  const std::vector<std::string> shared = {"--schedule",      "1F1B", "--stage-ranks", "0,1/2",
                                           "--micro-batches", "6"};
  std::vector<std::string> logged = shared;
  logged.insert(logged.end(), {"-o", path("run/")});
  ASSERT_EQ(plan(logged).exitCode, 0);
  const ProgramRun own = plan({"--costs-from", path("run"), "--json"});
  ASSERT_EQ(own.exitCode, 0) << own.err;
  EXPECT_EQ(json::parse(own.out).at("schedule").at("ranks_of_stage"),
            json::parse(R"([[0, 1], [2]])"));
  expectError(plan({"--compare", "--costs-from", path("run")}), path("run"), "take turns");
}

TEST_F(CompareCommand, ARunInTheOrderOfNoScheduleIsRefused) {
  write("mine.csv", "0F0,0F1,0F2,0B1,0B0,0B2\n1F0,1F1,1F2,1B1,1B0,1B2\n");
  ASSERT_EQ(plan({"--schedule-file", path("mine.csv"), "-o", path("run/")}).exitCode, 0);
  expectError(plan({"--costs-from", path("run")}), path("run"), "give --schedule NAME");
}

}  // namespace
}  // namespace pipetrace
