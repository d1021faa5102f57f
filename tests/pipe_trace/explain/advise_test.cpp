// pipe-trace advise, as users run it.
#include "tests/pipe_trace/explain/slow_run_fixture.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class AdviseCommand : public SlowRuns {
 protected:
  static ProgramRun advise(const std::vector<std::string>& arguments) {
    return ask("advise", arguments);
  }
  static json listOf(const std::vector<std::string>& arguments) {
    return jsonOf("advise", arguments);
  }
};

TEST_F(AdviseCommand, EachPieceHasItsStepItsPriceItsOptionsAndTheCommandThatShowsIt) {
  const std::string folder = logs(slowRun(1, 160));
  const ProgramRun result = advise({folder});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("schedule 1F1B, 8 micro-batches\n"),
                    HasSubstr("a rank holds 4.00 activations at most, and may hold 4.00\n"),
                    ContainsRegex("\n1\\. .*: the step takes [0-9.]+ ms, [0-9.]+ % less"),
                    HasSubstr("activations of a rank 4.00, 4.00 today"),
                    HasSubstr("cut the model so that all stages take equally long"),
                    HasSubstr("--pipeline-model-parallel-layout"),
                    HasSubstr("look: pipe-trace what-if '" + folder + "' --balance stages\n")));
}

TEST_F(AdviseCommand, TheCommandThatIsNamedPredictsTheSameStep) {
  const std::string folder = logs(slowRun(1, 160));
  const json list = listOf({folder});
  for (const json& advice : list["advice"]) {
    const std::string command = advice["command"];
    std::vector<std::string> words = {"what-if", folder, "--json"};
    std::istringstream rest(command.substr(command.rfind("' ") + 2));
    for (std::string word; rest >> word;) words.push_back(word);
    const ProgramRun result = run(words);
    ASSERT_EQ(result.exitCode, 0) << command << result.err;
    EXPECT_EQ(json::parse(result.out)["changed"]["step_ns"], advice["step_ns"]) << command;
  }
}

TEST_F(AdviseCommand, WithBlocksThePartitionIsNamedWithItsOptionsAndTheCommandThatShowsIt) {
  const std::string folder = logs(slowRun(1, 160));
  write("blocks.json", R"({"blocks": [{"forward_ms": 5, "count": 12}]})");
  const json list = listOf({folder, "--blocks", path("blocks.json"), "--run-partition", "2,6,2,2"});
  const auto found = std::find_if(list["advice"].begin(), list["advice"].end(),
                                  [](const json& advice) { return advice["kind"] == "partition"; });
  ASSERT_NE(found, list["advice"].end()) << list.dump(2);
  EXPECT_THAT((*found)["text"].get<std::string>(), AllOf(HasSubstr("cut the model into stages of "),
                                                         HasSubstr(" blocks in place of 2,6,2,2")));
  EXPECT_THAT((*found)["options"][2]["text"].get<std::string>(),
              HasSubstr("--pipeline-model-parallel-layout \"Et*"));
  const std::string command = (*found)["command"];
  const std::string blocks = " --blocks '" + path("blocks.json") + "' --run-partition 2,6,2,2";
  ASSERT_THAT(command, testing::EndsWith(blocks));
  const std::size_t at = command.find("--partition ") + 12;
  const std::vector<std::string> words = {"what-if",
                                          folder,
                                          "--json",
                                          "--partition",
                                          command.substr(at, command.size() - blocks.size() - at),
                                          "--blocks",
                                          path("blocks.json"),
                                          "--run-partition",
                                          "2,6,2,2"};
  const ProgramRun result = run(words);
  ASSERT_EQ(result.exitCode, 0) << command << result.err;
  EXPECT_EQ(json::parse(result.out)["changed"]["step_ns"], (*found)["step_ns"]) << command;
}

TEST_F(AdviseCommand, AnOptionThatTakesAPlanInAFileNamesTheCommandThatWritesIt) {
  Costs costs = costsWith(1, 100);
  costs.faults.links.push_back({.rank = 1, .peer = 2, .transfer = 40 * kNsPerMs});
  const std::string folder = logs(simulate(buildSchedule("1F1B", 4, 12), costs, {.steps = 3}));
  const json list = listOf({folder, "--limit-activations", "6"});
  const auto found = std::find_if(list["advice"].begin(), list["advice"].end(),
                                  [](const json& advice) { return advice["kind"] == "warm_up"; });
  ASSERT_NE(found, list["advice"].end()) << list.dump(2);
  const std::string text = (*found)["options"][0]["text"];
  const std::string command = text.substr(0, text.find(", and then _PipelineScheduleRuntime"));
  ASSERT_EQ(command, (*found)["command"].get<std::string>() + " --csv plan.csv");
  const std::string inFolder = "cd '" + folder_.string() + "' && ";
  const ProgramRun written =
      runProgram({"/bin/sh", "-c",
                  inFolder + test::inBuild("bin/pipe-trace") + command.substr(command.find(' '))});
  EXPECT_EQ(written.exitCode, 0) << written.err;
  // A file of rows alone, which torch reads, with the warm-up that the command asks for.
  EXPECT_THAT(contents(path("plan.csv")), testing::StartsWith("0F0,0F1,0F2,0F3,"));
  EXPECT_EQ(run({"plan", "--schedule-file", path("plan.csv"), "--check"}).exitCode, 0);
}

TEST_F(AdviseCommand, TheCommandThatIsNamedReadsTheSameInputsInTheSameWay) {
  const std::string folder = logs(slowRun(1, 160));
  const ProgramRun result =
      advise({folder + "/workerlog.0", folder + "/workerlog.1", folder + "/workerlog.2",
              folder + "/workerlog.3", "--steps", "1:3", "--align", "none", "--threads", "1"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("look: pipe-trace what-if '" + folder + "/workerlog.0' '" +
                                    folder + "/workerlog.1' '" + folder + "/workerlog.2' '" +
                                    folder + "/workerlog.3' --align none --steps 1:3 --balance"));
}

TEST_F(AdviseCommand, NoPlanNeedsMoreThanTheLimitInActivationsOrInBytes) {
  const std::string folder = logs(slowRun(1, 160));
  const json plain = listOf({folder, "--limit-activations", "2.5"});
  EXPECT_EQ(plain["limit_activations"], 2.5);
  for (const json& advice : plain["advice"]) {
    if (advice["peak_activations"].is_null()) continue;  // of the run itself
    EXPECT_LE(advice["peak_activations"], 2.5 + 1e-6);
  }
  EXPECT_THAT(advise({folder, "--limit-activations", "2.5"}).out,
              AllOf(HasSubstr("the run itself holds more than the limit\n"),
                    HasSubstr("\nover the limit of 2.50 activations: take ")));
  json inBytes = listOf({folder, "--limit", "5", "--activation-gb", "2"});
  EXPECT_THAT(
      inBytes["notes"][0].get<std::string>(),
      HasSubstr("limit of 5.00 GB is 2.50 activations of 2.00 GB each, as --activation-gb"));
  inBytes["notes"].erase(0);
  EXPECT_EQ(inBytes, plain);
  expectError(advise({folder, "--limit", "5"}), "--limit", "give --activation-gb, or --blocks");
  expectError(advise({folder, "--limit-activations", "1e18"}), "--limit-activations", "");
  expectError(advise({folder, "--limit-activations", "0"}), "--limit-activations", "above 0");
}

TEST_F(AdviseCommand, TheReportEndsWithTheBestAndItsJsonHasAll) {
  const std::string folder = logs(slowRun(1, 160));
  const json list = listOf({folder});
  const std::string best = list["advice"][0]["text"];
  const ProgramRun report = run({"report", folder});
  const std::string lastLine = report.out.substr(report.out.rfind('\n', report.out.size() - 2) + 1);
  EXPECT_THAT(lastLine, HasSubstr("advice: " + best + ": the step takes "));
  EXPECT_EQ(json::parse(run({"report", folder, "--json"}).out)["advice"], list);
}

TEST_F(AdviseCommand, LogsWithoutAnyComputeJobAreRefused) {
  Simulation empty = slowRun(1, 160);
  for (Track& track : empty.timeline.tracks) {
    std::erase_if(track.events, [](const Event& event) { return isCompute(event.kind); });
  }
  expectError(advise({logs(empty)}), "the inputs hold no compute job", "nothing to advise on");
}

}  // namespace
}  // namespace pipetrace
