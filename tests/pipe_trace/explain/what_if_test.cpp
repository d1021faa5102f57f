// pipe-trace what-if, as users run it.
#include <filesystem>

#include "tests/pipe_trace/explain/slow_run_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class WhatIfCommand : public SlowRuns {
 protected:
  static ProgramRun whatIf(const std::vector<std::string>& arguments) {
    return ask("what-if", arguments);
  }
  static json answerOf(const std::vector<std::string>& arguments, int exitCode = 0) {
    return jsonOf("what-if", arguments, exitCode);
  }
};

TEST_F(WhatIfCommand, AFasterStageIsPrintedWithBothErrorsAndWhatGoesAway) {
  const ProgramRun result = whatIf({logs(slowRun(2, 130)), "--scale", "stage=2:0.769230769"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("1F1B: --scale stage=2:0.769230769\n"),
                    ContainsRegex("measured +395.8 ms"), ContainsRegex("run again +395.8 ms"),
                    ContainsRegex("changed +333.6 ms +-15.72 %"), HasSubstr("replay error 0 ns"),
                    HasSubstr("model error 0.00 %"), HasSubstr("What goes away"),
                    HasSubstr("  work -72.00 ms, most at stage 2: -72.00 ms\n"),
                    HasSubstr("imbalance"), HasSubstr("peak activations by rank: 4 3 2 1\n")));
}

TEST_F(WhatIfCommand, AnotherPlanIsSimulatedAndWritten) {
  const json answer = answerOf({logs(slowRun(2, 130)), "--schedule", "zb-h1", "--split", "1:1",
                                "-o", path("better.json"), "-o", path("better.svg")});
  EXPECT_EQ(answer["by_model"], true);
  EXPECT_EQ(answer["schedule"], "1F1B");
  EXPECT_THAT(answer["asked"], ElementsAre("--schedule zb-h1", "--split 1:1"));
  EXPECT_LT(answer["change"], 0);
  EXPECT_EQ(answer["changed"]["ranks"].size(), 4U);
  EXPECT_THAT(contents(path("better.svg")), HasSubstr("<svg"));
  // The profile has the changed run with its steps, bubbles and all.
  const ProgramRun again = run({path("better.json"), "--json"});
  EXPECT_EQ(again.exitCode, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["steps"][2]["window_ns"], answer["changed"]["step_ns"]);
}

TEST_F(WhatIfCommand, BalancedStagesKeepTheWorkAndIdealOnesDoNot) {
  const std::string input = logs(slowRun(2, 130));
  const json balanced = answerOf({input, "--balance", "stages"});
  const json ideal = answerOf({input, "--make-ideal", "stage=2"});
  const auto workOf = [](const json& figures) {
    std::int64_t sum = 0;
    for (const json& rank : figures["ranks"]) sum += rank["work_ns"].get<std::int64_t>();
    return sum;
  };
  EXPECT_EQ(workOf(balanced["changed"]), workOf(balanced["unchanged"]));
  EXPECT_LT(workOf(ideal["changed"]), workOf(ideal["unchanged"]));
  EXPECT_LT(balanced["changed"]["step_ns"], balanced["unchanged"]["step_ns"]);
}

TEST_F(WhatIfCommand, TokensOfAStepBecomeTokensPerSecond) {
  const json answer =
      answerOf({logs(slowRun(2, 130)), "--micro-batches", "16", "--tokens-per-step", "1000"});
  const auto rateOf = [](const json& figures) {
    return figures["tokens_per_second"].get<double>();
  };
  EXPECT_GT(rateOf(answer["changed"]), 1.1 * rateOf(answer["unchanged"]));
  EXPECT_THAT(whatIf({logs(slowRun(2, 130), "more"), "--micro-batches", "16"}).out,
              HasSubstr("steps/s"));
}

TEST_F(WhatIfCommand, AnotherPartitionIsAFileOrNumbersAndNeedsWhatTheBlocksCost) {
  const std::string input = logs(slowRun(2, 130));
  write("blocks.json", R"({"blocks": [{"forward_ms": 5, "count": 6}, {"forward_ms": 4},
                                      {"forward_ms": 6}, {"forward_ms": 7}]})");
  write("partition.json", R"({"partition": [2, 3, 2, 2]})");
  const std::vector<std::string> blocks = {"--blocks", path("blocks.json"), "--run-partition",
                                           "2,2,3,2"};
  const auto with = [&](const std::string& partition) {
    std::vector<std::string> words = {input, "--partition", partition};
    words.insert(words.end(), blocks.begin(), blocks.end());
    return words;
  };
  const json same = answerOf(with("2,2,3,2"));
  EXPECT_EQ(same["changed"]["step_ns"], same["measured"]["step_ns"]);
  // Stage 2 has 13 ms, of which the block that moves is 5 of 14.
  const json moved = answerOf(with("2,3,2,2"));
  EXPECT_EQ(moved["changed"], answerOf(with(path("partition.json")))["changed"]);
  EXPECT_EQ(moved["changed"]["ranks"][1]["work_ns"],
            moved["measured"]["ranks"][1]["work_ns"].get<std::int64_t>() +
                8 * 3 * std::llround(13e6 * 5 / 14));
  const auto refusedText = [&](const std::vector<std::string>& words) {
    const ProgramRun result = whatIf(words);
    EXPECT_EQ(result.exitCode, 2);
    return result.err;
  };
  EXPECT_THAT(refusedText({input, "--partition", "2,3,2,2"}),
              HasSubstr("--partition 2,3,2,2 needs --blocks: FILE, a table of what the blocks"));
  EXPECT_THAT(refusedText({input, "--partition", "2,3,2,2", "--blocks", "equal"}),
              HasSubstr("--run-partition does"));
  EXPECT_THAT(refusedText({input, "--run-partition", "2,2,3,2"}), HasSubstr("needs --blocks"));
  EXPECT_THAT(refusedText({input, "--scale", "stage=1:2", "--blocks", path("blocks.json")}),
              HasSubstr("--blocks goes with another plan"));
  write("partition.json", R"({"partitions": [2, 3, 2, 2]})");
  EXPECT_THAT(refusedText(with(path("partition.json"))), HasSubstr("unknown key \"partitions\""));
  write("blocks.json", R"({"blocks": [{"backward_ms": 5, "count": 9}]})");
  EXPECT_THAT(refusedText(with("2,3,2,2")), HasSubstr("has no forward_ms"));
}

TEST_F(WhatIfCommand, TheChangedPlanIsWrittenAsAScheduleFile) {
  const std::string input = logs(slowRun(2, 130));
  const json answer = answerOf(
      {input, "--schedule", "auto", "--limit-activations", "4", "--csv", path("plan.csv")});
  EXPECT_FALSE(answer.contains("refusal")) << answer["refusal"];
  const ProgramRun check = run({"plan", "--schedule-file", path("plan.csv"), "--forward-ms",
                                "10,10,13,10", "--backward-ms", "20,20,26,20", "--transfer-ms",
                                "0.1", "--optimizer-ms", "2", "--json"});
  EXPECT_EQ(check.exitCode, 0) << check.err;
  EXPECT_EQ(json::parse(check.out)["windows_ns"], answer["changed"]["step_ns"]);
  EXPECT_THAT(whatIf({input, "--scale", "stage=1:2", "--csv", path("no.csv")}).err,
              HasSubstr("--csv goes with another plan"));
  EXPECT_THAT(whatIf({input, "--schedule", "GPipe", "--csv", input + "/workerlog.1"}).err,
              HasSubstr("workerlog.1"));
}

TEST_F(WhatIfCommand, WithoutAModelThatHoldsThereIsNoAnswerAboutAnotherPlan) {
  const std::string input = logs(slowRun(2, 130, "PipeDream"));
  const ProgramRun result = whatIf({input, "--schedule", "GPipe", "-o", path("never.json")});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.out, AllOf(HasSubstr("replay error 0 ns"), HasSubstr("no model error: "),
                                HasSubstr("no answer about another plan: "),
                                HasSubstr("\nthe run is asynchronous: the step is the whole run"),
                                Not(HasSubstr("a step is a median"))));
  EXPECT_THAT(whatIf({input, "--schedule", "GPipe", "--quiet"}).out, HasSubstr("asynchronous"));
  EXPECT_THAT(names(), Not(Contains("never.json")));
  EXPECT_THAT(answerOf({input, "--schedule", "GPipe"}, 2)["refusal"].get<std::string>(),
              HasSubstr("asynchronous"));
}

TEST_F(WhatIfCommand, ChangesThatMakeNoSenseAreErrorsThatNameTheOption) {
  const std::string input = logs(slowRun(2, 130));
  const auto expectRefused = [&](const std::vector<std::string>& options, const std::string& what) {
    std::vector<std::string> arguments = {input};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProgramRun result = whatIf(arguments);
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(what));
  };
  expectRefused({"--scale", "stage=9:2"}, "--scale stage=9:2");
  expectRefused({"--scale", "stage=2:0"}, "the factor is above 0");
  expectRefused({"--split", "1:1", "--split", "1:2"}, "--split was given more than once");
  expectRefused(
      {"--schedule", "auto", "--limit-activations", "0.5"},
      "--limit-activations 0.50: auto needs room for 1, which is what a micro-batch takes");
  expectRefused({"--link", "0-3=1ms"}, "--link 0-3=1ms: the logs have no message");
  expectRefused({"--balance", "ranks"}, "--balance ranks: it is stages");
  expectRefused({"--make-ideal", "half"}, "--make-ideal half");
  expectRefused({"--schedule", "ZB-H1", "--split", "1"}, "--split 1: write it as");
  expectRefused({"--split", "1:1"}, "--schedule");
  expectRefused({"--transfers", "late"}, "--transfers late: it is in-time or torch");
  expectRefused({"--comm-streams", "many"}, "--comm-streams many");
  expectRefused({"--schedule", "PipeDream"}, "asynchronous");
  expectRefused({"--keep-batch"}, "--micro-batches");
  expectRefused({"--schedule", "GPipe", "--make-ideal", "all"}, "--make-ideal all");
  expectRefused({"--ranks", "0"}, "--ranks makes no sense for a what-if");
  expectRefused({"-o", input + "/workerlog.0"}, "workerlog.0");
  EXPECT_EQ(whatIf({input, "--scale", "kind=transfer:0"}).exitCode, 0);
}

}  // namespace
}  // namespace pipetrace
