// `pipe-trace plan --blocks`.
#include <gmock/gmock.h>

#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kLopsided = R"({"blocks": [
    {"forward_ms": 3, "backward_ms": 6, "activation_bytes": 300000000},
    {"forward_ms": 1, "backward_ms": 2, "activation_bytes": 100000000, "count": 3}]})";

class PartitionCommand : public PlanCommand {
 protected:
  void SetUp() override {
    PlanCommand::SetUp();
    write("blocks.json", kLopsided);
  }
  ProgramRun planBlocks(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--blocks", path("blocks.json"), "--schedule", "1F1B", "--ranks",
                               "2", "--micro-batches", "4"});
    return plan(more);
  }
};

TEST_F(PartitionCommand, TheStepIsThatOfBalancedStages) {
  const ProgramRun text = planBlocks();
  EXPECT_EQ(text.exitCode, 0) << text.err;
  // (m + p - 1)(F + B) of stages that take 9 ms each. Evenly they take 12 and 6 ms: rank 0 works
  // for 48 ms, and waits 2 ms for its first gradient.
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("length 45.00 ms"),
                    HasSubstr("step 45.00 ms, 10.0 % less than the even partition's 50.00 "
                              "ms; no partition has a shorter one"),
                    HasSubstr("    1     1-3       3          0                0\n")));
  const json found = json::parse(planBlocks({"--json"}).out);
  EXPECT_EQ(found.at("length_ns"), 45'000'000);
  EXPECT_EQ(found.at("partition").at("blocks"), json({1, 3}));
  EXPECT_EQ(found.at("partition").at("recomputed"), json({0, 0}));
  EXPECT_EQ(found.at("partition").at("step_ns"), 45'000'000);
  EXPECT_EQ(found.at("partition").at("even_step_ns"), 50'000'000);
  EXPECT_EQ(found.at("partition").at("proven"), true);
  EXPECT_EQ(found.at("ranks")[0].at("peak_memory_bytes"), 600'000'000);
  EXPECT_EQ(jsonOf("1F1B").count("partition"), 0U);
}

TEST_F(PartitionCommand, WithinALimitBlocksRunAgain) {
  const ProgramRun run = planBlocks({"--limit", "0.5", "--partition-out", path("p.json")});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  const json file = json::parse(contents(path("p.json")));
  EXPECT_EQ(file.at("partition").size(), 2U);
  const json found = json::parse(planBlocks({"--limit", "0.5", "--json"}).out);
  EXPECT_EQ(found.at("partition").at("blocks"), file.at("partition"));
  EXPECT_EQ(found.at("partition").at("recompute_ratio"), file.at("recompute_ratio"));
  EXPECT_EQ(found.at("problems"), json::array());
  int again = 0;
  for (const int stage : {0, 1}) {
    EXPECT_LE(found.at("ranks")[stage].at("peak_memory_bytes"), 500'000'000);
    const double ratio = file.at("recompute_ratio")[stage];
    const int blocks = file.at("partition")[stage];
    EXPECT_EQ(static_cast<int>(ratio * blocks), found.at("partition").at("recomputed")[stage]);
    again += static_cast<int>(ratio * blocks);
  }
  EXPECT_GT(again, 0);
  EXPECT_GT(found.at("length_ns"), 45'000'000);
}

TEST_F(PartitionCommand, ALimitThatNoPartitionKeepsIsMissedByThatMuch) {
  const ProgramRun run = planBlocks({"--limit", "0.2"});
  EXPECT_EQ(run.exitCode, 2);
  // Even a forward that runs again has all 300 MB of block 0 in its backward.
  EXPECT_THAT(run.err, HasSubstr("no partition fits into --limit 0.2: the best takes 300.00 MB on "
                                 "rank 0, 100.00 MB too much"));
}

TEST_F(PartitionCommand, ErrorsNameOptionsFilesAndBlocks) {
  const auto expectError = [&](const std::vector<std::string>& more, const std::string& error) {
    const ProgramRun run = planBlocks(more);
    EXPECT_EQ(run.exitCode, 2);
    EXPECT_THAT(run.err, HasSubstr(error));
  };
  expectError({"--forward-ms", "1"}, "--forward-ms excludes --blocks");
  expectError({"--activation-gb", "1"}, "--activation-gb excludes --blocks");
  EXPECT_THAT(planOf("1F1B", {"--partition-out", "p.json"}).err, HasSubstr("requires --blocks"));
  EXPECT_THAT(planOf("auto", {"--blocks", path("blocks.json")}).err,
              HasSubstr("auto is made for the costs of its stages"));
  EXPECT_THAT(planOf("1F1B", {"--chunks", "1", "--blocks", path("none.json")}).err,
              HasSubstr("none.json"));
  write("blocks.json", R"({"blocks": [{"forward_ms": 1}, {"name": "head", "forwrd_ms": 1}]})");
  expectError({},
              "blocks.json: block 1 (head): forwrd_ms is no key of a block; did you mean "
              "forward_ms?");
  write("blocks.json", R"({"blocks": [{"forward_ms": 1}, {"forward_ms": 1}]})");
  expectError({"--limit", "1"}, "give the activation_bytes of all blocks");
  EXPECT_THAT(planBlocks({"--json"}).out, HasSubstr("\"peak_memory_bytes\": null"));
  write("blocks.json", R"({"blocks": [{"forward_ms": 1}]})");
  expectError({}, "a model of 1 block cannot be cut into 2 stages");
}

TEST_F(PartitionCommand, AScheduleFileHasItsPartition) {
  write("own.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  const ProgramRun run =
      plan({"--schedule-file", path("own.csv"), "--blocks", path("blocks.json"), "--json"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  // Stages of 12 and 6 ms: F0 4, F1 8, 1B0 10, B0 18, B1 26. With 9 and 9 ms it ends after 27 ms.
  EXPECT_EQ(json::parse(run.out).at("partition").at("blocks"), json({2, 2}));
  EXPECT_EQ(json::parse(run.out).at("length_ns"), 26'000'000);
  write("again.csv", "0F0,0R0,0B0\n1F0,1B0\n");
  EXPECT_THAT(plan({"--schedule-file", path("again.csv"), "--blocks", path("blocks.json")}).err,
              HasSubstr("says itself what runs again"));
}

}  // namespace
}  // namespace pipetrace
