// pipe-trace report, as users run it.
#include <filesystem>
#include <map>
#include <utility>

#include "tests/pipe_trace/explain/slow_run_fixture.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ReportCommand : public SlowRuns {
 protected:
  static ProgramRun report(const std::vector<std::string>& arguments) {
    return ask("report", arguments);
  }
  static json reportOf(const std::vector<std::string>& arguments) {
    return jsonOf("report", arguments);
  }
  std::string slowLogs() const { return logs(slowRun(2, 130)); }

  /// Logs of the run, each rank `count` times, as rank r · count + c, c < count. They name no
  /// topology.
  std::string copiedLogs(const Simulation& simulation, int count) const {
    Timeline copies;
    copies.strings = simulation.timeline.strings;
    copies.arguments = simulation.timeline.arguments;
    for (const Track& track : simulation.timeline.tracks) {
      for (int c = 0; c < count; ++c) {
        const int rank = track.rank * count + c;
        RankInfo& info = copies.ranks[rank];
        info.rank = rank;
        info.hasEnd = true;
        std::vector<Event>& events = copies.track(rank, track.lane).events;
        events = track.events;
        for (Event& event : events) {
          if (event.peer >= 0) event.peer = event.peer * count + c;
        }
      }
    }
    copies.sort();
    writeJobLogs(copies, path("copies"));
    return path("copies");
  }

  static std::string shared(const std::string& name) {
    return test::inSources("../shared/data/") + name;
  }
};

TEST_F(ReportCommand, EachFindingHasTheCommandThatShowsIt) {
  const std::string folder = slowLogs();
  ASSERT_THAT(folder, testing::EndsWith("my logs")) << "a name that shells would cut";
  const std::string command = "\n     pipe-view '" + folder + "' --find 'rank:";
  EXPECT_THAT(report({folder}).out, HasSubstr(command));
  EXPECT_THAT(report({folder, "--align", "none"}).out,
              HasSubstr("\n     pipe-view --align none '" + folder + "' --find 'rank:"));
  EXPECT_THAT(report({folder, "--pp", "4"}).out, Not(HasSubstr("--find")))
      << "pipe-view has no such option";
  const json run = reportOf({folder, "--pp", "4"});
  for (const json& finding : run["findings"]) {
    EXPECT_THAT(finding["find"].get<std::string>(), StartsWith("rank:")) << finding;
  }
  expectValid(run.dump(), "report.schema.json");
}

TEST_F(ReportCommand, FindingsComeFirstAndNameTheSlowStage) {
  const ProgramRun result = report({slowLogs()});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("4 ranks, 4 steps, 256 compute jobs\na step takes "));
  EXPECT_THAT(result.out, HasSubstr("\nschedule: 1F1B"));
  EXPECT_THAT(result.out, HasSubstr("\nfindings\n  1. stage 2 (rank 2) takes 1.30 times as long"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("who costs whom"), HasSubstr("critical path consists")));
}

TEST_F(ReportCommand, MessagesThatHoldUpOthersAreTheFirstFindingWithTheirGain) {
  const auto logsOn = [&](const std::string& lines) {
    const ProgramRun plan =
        run({"plan", "--schedule", "LoopedBFS", "--ranks", "4", "--micro-batches", "8",
             "--forward-ms", "10", "--backward-ms", "20", "--transfer-ms", "1", "--transfers",
             "torch", "--comm-streams", lines, "-o", path(lines + "/")});
    EXPECT_EQ(plan.exitCode, 0) << plan.err;
    return path(lines);
  };
  const json inLine = reportOf({logsOn("rank")});
  const json& finding = inLine["findings"][0];
  EXPECT_EQ(finding["evidence"]["class"], "blocked");
  EXPECT_THAT(finding["evidence"]["culprit"]["job"].get<std::string>(), HasSubstr("RECV_"));
  // The lengths of ../shared/data/message_order: 854 ms, and 576 ms in time.
  EXPECT_THAT(
      finding["text"].get<std::string>(),
      HasSubstr("hold up messages behind them: 278.0 ms a step, 32.6 % of it; with messages "
                "in the order of their times the step would take 576.0 ms"));
  EXPECT_THAT(finding["advice"].get<std::string>(),
              AllOf(HasSubstr("--costs-from '" + path("rank") + "' --comm-streams rank"),
                    HasSubstr("--transfers in-time --csv")));
  EXPECT_GT(inLine["ranks"][0]["bubbles"]["blocked"].get<std::int64_t>(), 0);
  expectValid(inLine.dump(), "report.schema.json");
  const json free = reportOf({logsOn("message")});
  EXPECT_FALSE(free["ranks"][0]["bubbles"].contains("blocked"));
  EXPECT_THAT(report({path("rank")}).out, HasSubstr("  blocked\n"));
}

TEST_F(ReportCommand, ASlowRankIsNamedThoughRanksThatAreHeldUpHardlyWaitForIt) {
  const auto reportWith = [&](const std::string& factor) {
    std::vector<std::string> plan = {"plan", "--scale", "rank=10:" + factor, "-o",
                                     path(factor + "/")};
    for (const char* option : {"--schedule=LoopedBFS", "--ranks=6", "--micro-batches=12", "--dp=3",
                               "--forward-ms=20", "--backward-ms=40", "--transfer-ms=5",
                               "--transfers=torch", "--comm-streams=rank", "--steps=4"}) {
      plan.emplace_back(option);
    }
    const ProgramRun made = run(plan);
    EXPECT_EQ(made.exitCode, 0) << made.err;
    return report({path(factor)}).out;
  };
  EXPECT_THAT(reportWith("1.2"),
              HasSubstr(". rank 10 takes 1.20 times as long as the other ranks"));
  EXPECT_THAT(reportWith("1.02"), Not(HasSubstr(". rank 10 takes")));
}

TEST_F(ReportCommand, JsonFollowsItsSchema) {
  const std::string folder = slowLogs();
  for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                               {"--all"},
                                               {"--tokens-per-step", "4096"},
                                               {"--steps", "1:3"},
                                               {"--by-name"}}) {
    std::vector<std::string> arguments = {"report", folder, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramRun result = run(arguments);
    ASSERT_EQ(result.exitCode, 0) << result.err;
    expectValid(result.out, "report.schema.json");
  }
}

TEST_F(ReportCommand, QuietHidesNotesButNotTheReport) {
  const std::string folder = slowLogs();
  const ProgramRun quiet = report({folder, "-q"});
  EXPECT_EQ(quiet.exitCode, 0);
  EXPECT_EQ(quiet.out, report({folder}).out);
  EXPECT_THAT(quiet.out, HasSubstr("findings"));
  EXPECT_EQ(quiet.err, "");
}

TEST_F(ReportCommand, ByNameListsCallsAndTimesOfEachNameAndRank) {
  const std::string folder = slowLogs();
  EXPECT_FALSE(reportOf({folder}).contains("by_name"));
  const json run = reportOf({folder, "--by-name"});
  std::map<std::pair<std::string, int>, json> rows;
  for (const json& row : run["by_name"]) {
    rows[{row["name"].get<std::string>(), row["rank"].get<int>()}] = row;
  }
  // Four steps of 8 micro-batches: forwards of 10 ms, those of stage 2 of 13 ms.
  for (const int rank : {0, 2}) {
    const json& forwards = rows.at({"forward", rank});
    EXPECT_EQ(forwards["calls"], 32);
    EXPECT_EQ(forwards["total_ns"], 32 * (rank == 2 ? 13 : 10) * kNsPerMs);
    EXPECT_EQ(forwards["own_ns"], forwards["total_ns"]);
  }
  EXPECT_THAT(report({folder, "--by-name"}).out,
              HasSubstr("\n  832.0 ms  832.0 ms     32     2  backward\n"));
  EXPECT_THAT(report({folder}).out, Not(HasSubstr("time by name")));
}

TEST_F(ReportCommand, BubblesOfARankAddUpToItsIdleTime) {
  const json run = reportOf({slowLogs(), "--all"});
  std::map<int, Nanoseconds> listed;
  for (const json& bubble : run["bubbles"]) {
    listed[bubble["rank"]] +=
        bubble["end_ns"].get<Nanoseconds>() - bubble["begin_ns"].get<Nanoseconds>();
  }
  ASSERT_EQ(run["ranks"].size(), 4U);
  for (const json& rank : run["ranks"]) {
    Nanoseconds sum = 0;
    for (const auto& [name, time] : rank["bubbles"].items()) sum += time.get<Nanoseconds>();
    EXPECT_EQ(sum, rank["idle_ns"]);
    EXPECT_EQ(listed[rank["rank"]], rank["idle_ns"]);
  }
  EXPECT_EQ(run["findings"][0]["evidence"]["culprit"]["rank"], 2);
  EXPECT_EQ(reportOf({slowLogs()})["bubbles"].size(), 50U);
}

TEST_F(ReportCommand, TensorParallelPeersAreNoReplicas) {
  const std::string folder = copiedLogs(sample(3, 2), 4);
  const json replicas = reportOf({folder, "--pp", "2"});
  EXPECT_EQ(replicas["profile"]["dp"], 4);
  EXPECT_FALSE(replicas["profile"].contains("tp"));
  const ProgramRun result = report({folder, "--pp", "2", "--tp", "2", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  expectValid(result.out, "report.schema.json");
  const json run = json::parse(result.out);
  EXPECT_EQ(run["profile"]["pp"], 2);
  EXPECT_EQ(run["profile"]["dp"], 2);
  EXPECT_EQ(run["profile"]["tp"], 2);
  EXPECT_EQ(run["ranks"][7]["rank"], 7);
  EXPECT_EQ(run["ranks"][7]["stage"], 1);
  EXPECT_EQ(run["ranks"][7]["dp"], 1);
  EXPECT_EQ(run["ranks"][7]["tp"], 1);
  EXPECT_EQ(run["steps"].size(), 4U * 3U);
  EXPECT_EQ(run["slowdown"]["by_dp"].size(), 2U);
  // The numbers are those of one of the four pipelines.
  const json one = reportOf({logs(sample(3, 2))});
  EXPECT_EQ(run["summary"]["duration_ns"], one["summary"]["duration_ns"]);
  EXPECT_EQ(run["summary"]["bubble_ratio"]["median"], one["summary"]["bubble_ratio"]["median"]);
  EXPECT_EQ(run["slowdown"]["total"], one["slowdown"]["total"]);
  const std::string text = report({folder, "--tp", "2"}).out;
  EXPECT_THAT(text, StartsWith("doubt: ranks 0 to 7 share stages with peers, and nothing shows"));
  EXPECT_THAT(text, HasSubstr("\n8 ranks in 4 pipelines (2 replicas, 2 tensor-parallel ranks on "
                              "each stage), "));
}

TEST_F(ReportCommand, PauseThatALoadOfDataFillsNamesItsRank) {
  Simulation simulation = sample(4, 2);
  for (Track& track : simulation.timeline.tracks) {
    for (Event& event : track.events) {
      if (event.step < 2) continue;
      event.begin += 500 * kNsPerMs;
      event.end += 500 * kNsPerMs;
    }
  }
  Track& lane = simulation.timeline.track(1, kComputeLane);
  const Event& next = *std::find_if(lane.events.begin(), lane.events.end(),
                                    [](const Event& event) { return event.step == 2; });
  Event data;
  data.kind = JobKind::kData;
  data.begin = next.begin - 450 * kNsPerMs;
  data.end = data.begin + 420 * kNsPerMs;
  data.step = 2;
  lane.events.push_back(data);
  simulation.timeline.sort();
  const ProgramRun result = report({logs(simulation), "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  expectValid(result.out, "report.schema.json");
  const json run = json::parse(result.out);
  const auto finding =
      std::find_if(run["findings"].begin(), run["findings"].end(),
                   [](const json& each) { return each["evidence"].contains("pause"); });
  ASSERT_NE(finding, run["findings"].end()) << run["findings"];
  EXPECT_THAT(finding->at("text").get<std::string>(),
              StartsWith("rank 1's data loader: 420.0 ms a step in 1 of 3 steps: pauses between "
                         "steps cost "));
  const json& pause = finding->at("evidence")["pause"];
  EXPECT_EQ(pause["reason"], "data");
  EXPECT_EQ(pause["rank"], 1);
  EXPECT_EQ(pause["step"], 1);
  EXPECT_EQ(pause["work_ns"], 420 * kNsPerMs);
}

TEST_F(ReportCommand, SlackOfEveryJobOfTheStepsThatCountIsListedWithAll) {
  const std::string folder = slowLogs();
  EXPECT_FALSE(reportOf({folder}).contains("slack"));
  const json run = reportOf({folder, "--all"});
  ASSERT_EQ(run["slack"].size(), 4U * 64U);
  std::map<std::string, Nanoseconds> least;
  for (const json& job : run["slack"]) {
    const std::string stage = job["job"].get<std::string>().substr(0, 1);
    const auto slack = job["slack_ns"].get<Nanoseconds>();
    const auto [found, isNew] = least.try_emplace(stage, slack);
    found->second = std::min(found->second, slack);
  }
  ASSERT_EQ(least.size(), 4U);
  const json& byStage = run["critical_path"]["slack_by_stage"];
  for (const auto& [stage, slack] : least) EXPECT_EQ(byStage[stage]["least_ns"], slack);
  EXPECT_EQ(byStage["2"]["median_ns"], 0) << "the slow stage holds every step up";
  EXPECT_GT(byStage["0"]["median_ns"], 0);
  EXPECT_THAT(report({folder}).out, HasSubstr("\nslack of jobs: how much later"));
}

TEST_F(ReportCommand, StepsChooseWhatEverythingIsAbout) {
  const std::string folder = slowLogs();
  const json all = reportOf({folder});
  const json some = reportOf({folder, "--steps", "1:3"});
  EXPECT_EQ(all["summary"]["steps"], 4);
  EXPECT_EQ(some["summary"]["steps"], 2);
  EXPECT_EQ(some["steps"].size(), 4U);
  EXPECT_EQ(some["steps"][0]["counted"], false);
  // The steps are alike, so two have half of what four have.
  EXPECT_EQ(2 * some["findings"][0]["evidence"]["time_ns"].get<Nanoseconds>(),
            all["findings"][0]["evidence"]["time_ns"].get<Nanoseconds>());
  EXPECT_EQ(2 * some["ranks"][0]["idle_ns"].get<Nanoseconds>(),
            all["ranks"][0]["idle_ns"].get<Nanoseconds>());
  for (const json& bubble : some["bubbles"]) {
    EXPECT_THAT(bubble["step"].get<int>(), testing::AnyOf(1, 2));
  }
  EXPECT_THAT(report({folder, "--steps", "1:3"}).out,
              HasSubstr("\nall figures and findings are about 2 of 4 steps\n"));
}

TEST_F(ReportCommand, RunWithoutJobsIsRefused) {
  write("workerlog.0",
        "Profiler Info: Job (0), type = lr, micro_batch_id = 0, job_start_time = 1000.000001, "
        "job_end_time = 1000.000002, id = 1, step = 0\n");
  const ProgramRun result = report({path("workerlog.0")});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("no compute job, so there is nothing to explain"));
  EXPECT_EQ(result.out, "");
  const ProgramRun byName = report({path("workerlog.0"), "--by-name"});
  EXPECT_EQ(byName.exitCode, 2);
  EXPECT_THAT(byName.out, HasSubstr("time by name and rank"));
  EXPECT_THAT(byName.out, HasSubstr("  1 ns   1 ns      1     0  lr"));
}

TEST_F(ReportCommand, OptionsThatChangeNothingAreRefused) {
  const std::string folder = slowLogs();
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--ranks", "2"}, {"--skip", "lr,optimizer"}}) {
    const ProgramRun result = report({folder, option[0], option[1]});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err, HasSubstr(option[0] + " makes no sense for a report"));
  }
  EXPECT_THAT(report({"--help"}).out, Not(HasSubstr("--ranks")));
}

TEST_F(ReportCommand, NumbersThatAreNotAboveZeroAreRefusedInFewWords) {
  for (const char* const number : {"0", "-1", "nan", "inf", "many"}) {
    const ProgramRun result = report({slowLogs(), "--tokens-per-step", number});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err,
                HasSubstr("--tokens-per-step: " + std::string(number) + " is no number above 0"));
  }
}

TEST_F(ReportCommand, PeakWithoutOperationsIsAWarning) {
  const std::string folder = slowLogs();
  const ProgramRun result = report({folder, "--peak-tflops", "989", "--strict"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, HasSubstr("warning: --peak-tflops has no effect"));
  const ProgramRun known =
      report({folder, "--peak-tflops", "989", "--flops-per-step", "1e12", "--strict"});
  EXPECT_EQ(known.exitCode, 0) << known.err;
  EXPECT_THAT(known.out, HasSubstr("model FLOPs utilization"));
}

TEST_F(ReportCommand, MinorFindingsAreOneLineUnlessAllAreWanted) {
  const std::string folder = slowLogs();
  const std::string some = report({folder}).out;
  const std::string all = report({folder, "--all"}).out;
  EXPECT_THAT(some, ContainsRegex("\n  [0-9]+ more causes? costs? .*% .*: --all\n"));
  EXPECT_THAT(all, Not(HasSubstr(": --all\n")));
  const auto count = [](const std::string& text) {
    std::size_t findings = 0;
    for (std::size_t at = 0; (at = text.find("\n     next: ", at)) != std::string::npos; ++at) {
      ++findings;
    }
    return findings;
  };
  const std::size_t whole = reportOf({folder, "--all"})["findings"].size();
  EXPECT_EQ(count(all), whole);
  EXPECT_LT(count(some), whole);
  EXPECT_EQ(count(some), reportOf({folder})["findings"].size());
}

/// Step 0 takes five times as long as the others, as where it compiles.
TEST_F(ReportCommand, LongFirstStepIsLeftOutOfEverythingAndStepsHaveIt) {
  Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
  costs.stages[2] = {13 * kNsPerMs, 26 * kNsPerMs};
  Simulation run =
      simulate(buildSchedule("1F1B", 4, 8), costs, {.steps = 4, .stepsStartTogether = true});
  Nanoseconds first = kNsMax;
  for (const Track& track : run.timeline.tracks) {
    for (const Event& event : track.events) {
      if (event.step == 1) first = std::min(first, event.begin);
    }
  }
  for (Track& track : run.timeline.tracks) {
    for (Event& event : track.events) {
      event.begin = event.step == 0 ? 5 * event.begin : event.begin + 4 * first;
      event.end = event.step == 0 ? 5 * event.end : event.end + 4 * first;
    }
  }
  const std::string folder = logs(run);
  EXPECT_THAT(report({folder}).out, HasSubstr("\nstep 0 takes "));
  EXPECT_THAT(report({folder}).out,
              HasSubstr("5.00 times the median of the others, and is left out of all figures and "
                        "findings; --steps 0: has it\n\nfindings\n"));
  const json byRule = reportOf({folder});
  expectValid(byRule.dump(), "report.schema.json");
  EXPECT_EQ(byRule["summary"]["left_out"]["step"], 0);
  const json chosen = reportOf({folder, "--steps", "1:"});
  for (const char* const part : {"findings", "ranks", "bubbles", "who_costs_whom", "slowdown"}) {
    EXPECT_EQ(byRule[part], chosen[part]) << part;
  }
  const json all = reportOf({folder, "--steps", "0:"});
  EXPECT_FALSE(all["summary"].contains("left_out"));
  // Step 0 is as long as five others, and there are three of these.
  EXPECT_EQ(3 * all["ranks"][1]["idle_ns"].get<Nanoseconds>(),
            8 * chosen["ranks"][1]["idle_ns"].get<Nanoseconds>());
}

/// ../shared/data/README.md: iterations 1 to 19 last 1307.5 ms in the mean, parallel efficiency
/// 0.3552.
TEST_F(ReportCommand, MegatronAppsRunHasItsKnownFigures) {
  const std::string file = shared("megatronapp/app_aggregated.json");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const json run = reportOf({file});
  EXPECT_NEAR(run["summary"]["duration_ns"]["mean"].get<double>(), 1307.5e6, 0.001 * 1307.5e6);
  EXPECT_NEAR(run["summary"]["parallel_efficiency"]["mean"].get<double>(), 0.3552, 0.002);
  EXPECT_EQ(run["summary"]["steps"], 19);
}

}  // namespace
}  // namespace pipetrace
