// Messages in line: pipe-trace plan --comm-streams and --transfers.
#include "tests/pipe_trace/plan/plan_fixture.h"
#include "trace/testing/file_text.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The lengths are those of ../shared/data/message_order, which a separate program has computed.
TEST_F(PlanCommand, MessagesInLineTakeLongerAndInTimeNearlyAsLongAsOnTheirOwn) {
  const auto length = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options{"--forward-ms",  "10", "--backward-ms", "20",
                                     "--transfer-ms", "1"};
    options.insert(options.end(), more.begin(), more.end());
    const json plan = jsonOf("LoopedBFS", options);
    EXPECT_EQ(plan.at("comm_streams"), more.back());
    EXPECT_EQ(plan.at("closed_form"), nullptr);
    return plan.at("length_ns").get<std::int64_t>();
  };
  EXPECT_EQ(length({"--comm-streams", "message"}), 576'000'000);
  EXPECT_EQ(length({"--comm-streams", "rank"}), 854'000'000) << "torch's order";
  EXPECT_EQ(length({"--transfers", "in-time", "--comm-streams", "rank"}), 576'000'000);
  EXPECT_THAT(planOf("LoopedBFS", {"--comm-streams", "rank"}).out,
              HasSubstr("micro-batches, a line of messages for each rank\n"));
}

// A separate program has computed these lengths too, from the plan's own file.
TEST_F(PlanCommand, MoreCommunicatorsThanOneHoldUpFewerMessages) {
  const auto length = [&](const char* schedule, const char* lines, const char* transfer = "1") {
    const json plan = jsonOf(schedule, {"--forward-ms", "10", "--backward-ms", "20",
                                        "--transfer-ms", transfer, "--comm-streams", lines});
    EXPECT_EQ(plan.at("comm_streams"), lines);
    return plan.at("length_ns").get<std::int64_t>();
  };
  EXPECT_EQ(length("LoopedBFS", "edge"), 576'000'000);
  EXPECT_EQ(length("LoopedBFS", "direction"), 854'000'000);
  EXPECT_EQ(length("Interleaved1F1B", "edge"), 584'000'000);
  EXPECT_EQ(length("Interleaved1F1B", "peer"), 584'000'000);
  EXPECT_EQ(length("Interleaved1F1B", "direction"), 726'000'000);
  EXPECT_EQ(length("Interleaved1F1B", "rank"), 737'000'000);
  EXPECT_EQ(length("1F1B", "edge", "8"), 458'000'000);
  EXPECT_EQ(length("1F1B", "peer", "8"), 474'000'000);
  EXPECT_EQ(length("1F1B", "direction", "8"), 458'000'000);
  EXPECT_EQ(length("1F1B", "rank", "8"), 480'000'000);
}

TEST_F(PlanCommand, OneRankHasNoMessagesThatCouldWait) {
  for (const char* how : {"in-time", "torch"}) {
    const ProgramRun result = run({"plan", "--schedule", "1F1B", "--ranks", "1", "--micro-batches",
                                   "2", "--transfers", how, "--comm-streams", "rank"});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("length 6.000 ms"));
  }
}

TEST_F(PlanCommand, MessagesInLineThatWaitForEachOtherAreShownByTheCheck) {
  const std::vector<std::string> late{"--transfers", "0", "--comm-streams", "rank"};
  std::vector<std::string> check = late;
  check.emplace_back("--check");
  const ProgramRun result = planOf("1F1B", check);
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("deadlock: "), HasSubstr(" that closes the cycle")));
  const ProgramRun refused = planOf("1F1B", late);
  EXPECT_EQ(refused.exitCode, 2);
  EXPECT_THAT(refused.err, HasSubstr("cannot run with its messages in line: rank "));
  check[3] = "message";
  const ProgramRun good = planOf("1F1B", check);
  EXPECT_EQ(good.exitCode, 0);
  EXPECT_EQ(good.out,
            "1F1B, 4 ranks, 8 micro-batches, a line for each message: nothing is wrong\n");
}

TEST_F(PlanCommand, MessagesInLineAreOnOneLaneOfTheirRank) {
  ASSERT_EQ(planOf("1F1B", {"--transfer-ms", "1", "--comm-streams", "rank", "-o", path("logs/")})
                .exitCode,
            0);
  EXPECT_THAT(test::fileText(path("logs/workerlog.0")),
              AllOf(HasSubstr("stream = messages"), Not(HasSubstr("stream = send"))));
}

TEST_F(PlanCommand, WrongLinesAndOrdersOfMessagesAreErrors) {
  expectError(planOf("1F1B", {"--transfers", "soon"}), "--transfers soon", "in-time, torch");
  expectError(planOf("1F1B", {"--comm-streams", "two"}), "--comm-streams two",
              "it is message, edge, peer, direction or rank");
  expectError(planOf("1F1B", {"--credits", "2", "--transfers", "torch"}), "",
              "torch has no credits");
}

TEST_F(PlanCommand, APlanWithCreditsGetsItsMessagesInTime) {
  const ProgramRun given = planOf("ForwardOnly", {"--comm-streams", "rank"});
  EXPECT_EQ(given.exitCode, 0) << given.err;
  EXPECT_EQ(given.out,
            planOf("ForwardOnly", {"--comm-streams", "rank", "--transfers", "in-time"}).out);
}

}  // namespace
}  // namespace pipetrace
