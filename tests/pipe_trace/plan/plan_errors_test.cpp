// Plans with faults, and command lines of pipe-trace plan with faults.
#include <sys/resource.h>

#include <csignal>
#include <set>

#include "schedule/build_schedule.h"
#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(PlanCommand, CheckOfASoundPlanSaysSo) {
  const ProgramRun result = planOf("1F1B", {"--check"});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(result.out, "1F1B, 4 ranks, 8 micro-batches: nothing is wrong\n");
}

TEST_F(PlanCommand, CheckPrintsAllProblemsAndExitsWith1) {
  write("bad.csv", "0F0,0F0,0B0,0B1\n1B0,1F0,1F1,1B1\n");
  const ProgramRun result = plan({"--schedule-file", path("bad.csv"), "--check"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, AllOf(HasSubstr("rank 0, cell 1: 0F0 is done already"), HasSubstr("0F1"),
                                HasSubstr("rank 1, cell 0: 1B0 comes before")));
  const ProgramRun asJson = plan({"--schedule-file", path("bad.csv"), "--check", "--json"});
  EXPECT_EQ(asJson.exitCode, 1);
  const json report = json::parse(asJson.out);
  EXPECT_GE(report.at("problems").size(), 3U);
  EXPECT_FALSE(report.contains("length_ns"));
}

TEST_F(PlanCommand, CellThatCannotBeReadHidesNothingElse) {
  write("bad.csv", "0F0,0F0,0F0x,0B0\n1F0\n");
  const ProgramRun result = plan({"--schedule-file", path("bad.csv"), "--check"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("line 1:9: rank 0, cell 2: \"0F0x\" is no action"),
                    HasSubstr("rank 0, cell 1: 0F0 is done already"), HasSubstr("1B0 is missing")));
  EXPECT_THAT(result.out, Not(HasSubstr("-1F-1"))) << "a fault of a cell is reported once";
  const ProgramRun asJson = plan({"--schedule-file", path("bad.csv"), "--check", "--json"});
  EXPECT_EQ(asJson.exitCode, 1);
  const json report = json::parse(asJson.out);
  EXPECT_EQ(report.at("schedule").at("actions")[0], json::array({"0F0", "0F0", nullptr, "0B0"}));
  const json& problem = report.at("problems")[0];
  EXPECT_EQ(problem.at("rank"), 0);
  EXPECT_EQ(problem.at("cell"), 2);
  EXPECT_EQ(problem.at("line"), 1);
  EXPECT_EQ(problem.at("column"), 9);
  EXPECT_GE(report.at("problems").size(), 3U);
}

TEST_F(PlanCommand, FileWithoutItsLastRankIsNotOfTheSizeThatWasAskedFor) {
  write("short.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  const auto file = [this](std::vector<std::string> more) {
    more.insert(more.begin(), {"--schedule-file", path("short.csv")});
    return plan(more);
  };
  const ProgramRun checked = file({"--check", "--ranks", "3", "--micro-batches", "2"});
  EXPECT_EQ(checked.exitCode, 1);
  EXPECT_EQ(checked.out, "rank 2 is missing: the plan has 2 ranks, and 3 were asked for\n");
  const ProgramRun batches = file({"--check", "--ranks", "2", "--micro-batches", "3"});
  EXPECT_EQ(batches.exitCode, 1);
  EXPECT_THAT(batches.out, HasSubstr("micro-batch 2 is missing"));
  EXPECT_EQ(file({"--check", "--ranks", "2", "--micro-batches", "2"}).exitCode, 0);
  const ProgramRun drawn = file({"--ranks", "3"});
  EXPECT_EQ(drawn.exitCode, 2);
  EXPECT_THAT(drawn.err, HasSubstr("another size than the one asked for: rank 2 is missing"));
}

TEST_F(PlanCommand, PlanThatCannotRunIsAnErrorWithoutCheck) {
  write("bad.csv", "0B0,0F0\n");
  expectError(plan({"--schedule-file", path("bad.csv")}), "rank 0, cell 0", "cannot run");
}

TEST_F(PlanCommand, BuffersDecideAboutDeadlock) {
  EXPECT_EQ(planOf("1F1B", {"--check", "--buffers", "unbounded"}).exitCode, 0);
  EXPECT_EQ(planOf("1F1B", {"--check", "--buffers", "4"}).exitCode, 0);
  const ProgramRun blocking = planOf("1F1B", {"--check", "--buffers", "blocking"});
  EXPECT_EQ(blocking.exitCode, 1);
  EXPECT_THAT(blocking.out, AllOf(HasSubstr("deadlock"), HasSubstr("waits for")));
}

// Faults of the command line.

TEST_F(PlanCommand, HelpListsEveryOptionAndExitCode) {
  const ProgramRun help = plan({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.err, IsEmpty());
  for (const char* word : {"--schedule ",
                           "--schedule-file",
                           "--ranks P",
                           "--micro-batches",
                           "--chunks",
                           "--list",
                           "--costs ",
                           "--costs-from",
                           "--costs-out",
                           "--forward-ms",
                           "--backward-ms",
                           "--backward-input-ms",
                           "--backward-weight-ms",
                           "--fused-ms",
                           "--transfer-ms",
                           "--lr-ms",
                           "--optimizer-ms",
                           "--bandwidth-gbs",
                           "--message-mb",
                           "--activation-gb",
                           "--limit",
                           "--steps",
                           "--csv",
                           "--output",
                           "--json",
                           "--job-list",
                           "--check",
                           "--buffers",
                           "--most-versions",
                           "--most-distance",
                           "--backward-parts",
                           "--forward-parts",
                           "--transfer-jobs",
                           "--width",
                           "--transfers",
                           "--comm-streams",
                           "--credits",
                           "--dp",
                           "--forward-only",
                           "virtual stage",
                           "Exit codes",
                           "Examples"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  EXPECT_THAT(help.out, Not(HasSubstr("Excludes")));
  EXPECT_THAT(help.out, Not(HasSubstr("--stages"))) << "the old spelling";
  std::istringstream lines(help.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_THAT(run({"--help"}).out,
              AllOf(HasSubstr("pipe-trace plan"), HasSubstr("pipe-trace show")));
}

TEST_F(PlanCommand, WithoutAScheduleTheErrorNamesTheWaysToGiveOne) {
  expectError(plan({}), "no schedule",
              "--schedule NAME, --schedule-file FILE.csv, --costs-from RUN");
}

TEST_F(PlanCommand, FolderCalledLikeACommandIsReadByItsPath) {
  logs(sample(), "plan");
  const auto fromInside = [this] { ASSERT_EQ(::chdir(folder_.c_str()), 0); };
  EXPECT_THAT(run({"./plan"}, {.inChild = fromInside}).out, StartsWith("4 ranks, 1 step"));
  EXPECT_THAT(run({"plan/"}, {.inChild = fromInside}).out, StartsWith("4 ranks, 1 step"));
  expectError(run({"plan"}, {.inChild = fromInside}), "no schedule", "write ./plan");
  // Only the first argument is a command.
  logs(sample(), "show");
  EXPECT_EQ(run({"--json", "show"}, {.inChild = fromInside}).exitCode, 0);
}

TEST_F(PlanCommand, WrongSizesAreErrors) {
  expectError(plan({"--schedule", "1F1B"}), "--ranks P and --micro-batches M", "both are missing");
  expectError(plan({"--schedule", "1F1B", "--ranks", "4"}), "--micro-batches is missing", "1F1B");
  expectError(plan({"--schedule", "1F1B", "--micro-batches", "4"}), "--ranks is missing", "1F1B");
  for (const char* size : {"0", "-1", "4.5", "four", "", "99999999999"}) {
    expectError(plan({"--schedule", "1F1B", "--micro-batches", "4", "--ranks", size}), "--ranks",
                "--help");
  }
  expectError(plan({"--ranks", "4"}), "no schedule", "--schedule NAME");
  expectError(plan({"--schedule", "1F1B", "--ranks", "4096", "--micro-batches", "1000000"}),
              "4096 ranks", "take fewer");
  expectError(planOf("1F1B", {"--chunks", "3"}), "1F1B", "chunk");
  expectError(planOf("1F1B", {"--steps", "0"}), "--steps", "--help");
}

TEST_F(PlanCommand, RanksMayStillBeCalledStages) {
  const ProgramRun old = plan({"--schedule", "1F1B", "--stages", "4", "--micro-batches", "8"});
  EXPECT_EQ(old.exitCode, 0) << old.err;
  EXPECT_EQ(old.out, planOf("1F1B").out);
  expectError(plan({"--schedule", "1F1B", "--stage", "4", "--micro-batches", "8"}), "--stage 4",
              "did you mean --ranks?");
}

TEST_F(PlanCommand, UnknownScheduleIsAnErrorWithThoseThatAreKnown) {
  const ProgramRun result = planOf("1F2B");
  expectError(result, "1F2B", "choose one of");
  for (const std::string& name : scheduleNames()) EXPECT_THAT(result.err, HasSubstr(name));
  expectError(planOf(""), "--schedule", "empty");
}

TEST_F(PlanCommand, ContradictingOptionsAreErrors) {
  write("p.csv", "0F0,0B0\n");
  write("c.json", "{}");
  const std::string file = path("p.csv");
  const std::string costs = path("c.json");
  const std::vector<std::vector<std::string>> cases = {
      {"--schedule", "1F1B", "--schedule-file", file},
      {"--schedule-file", file, "--chunks", "2"},
      {"--list", "--schedule", "1F1B"},
      {"--schedule-file", file, "--costs", costs, "--forward-ms", "1"},
      {"--schedule-file", file, "--costs", costs, "--activation-gb", "1"},
      {"--schedule-file", file, "--costs", costs, "--costs-from", file},
      {"--schedule-file", file, "--costs-from", file, "--backward-ms", "1"},
      {"--schedule-file", file, "--bandwidth-gbs", "1"},
      {"--schedule-file", file, "--weights-gb", "1"},
      {"--schedule-file", file, "--buffers", "1"},
      {"--schedule-file", file, "--check", "--buffers", "1", "--comm-streams", "rank"},
      {"--schedule-file", file, "--check", "--job-list"},
      {"--schedule-file", file, "--check", "-o", path("x.svg")},
      {"--schedule-file", file, "--check", "--csv", path("x.csv")},
      {"--schedule-file", file, "--check", "--costs-out", path("x.json")},
      {"--schedule-file", file, "--backward-parts", "2"},
      {"--schedule-file", file, "--transfer-jobs"},
      {"--schedule-file", file, "--json", "--job-list"},
      {"--schedule-file", file, "--json", "--csv", "-"},
      {"--schedule-file", file, "--csv", "-", "--costs-out", "-"},
      {"--schedule-file", "-", "--costs", "-"},
      {"--schedule-file", file, "--limit", "1"},
      {"--schedule-file", file, "--colour"},
      {"--schedule-file", file, "leftover"},
  };
  for (const auto& arguments : cases) {
    const ProgramRun result = plan(arguments);
    expectError(result, "pipe-trace plan", arguments.back() == "-" ? "standard" : "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'),
              result.err.find("--help") == std::string::npos ? 1 : 2)
        << result.err;
  }
}

TEST_F(PlanCommand, TextsThatAreNoNumbersAreErrorsWithTheirOption) {
  for (const char* text : {"fast", "-1", "1e3", "1,,2", "1,", "99999999999999999999", "1 2"}) {
    expectError(planOf("1F1B", {std::string("--forward-ms=") + text}), "--forward-ms",
                "10 or 0.25");
  }
  expectError(planOf("1F1B", {"--forward-ms", "1,2,3"}), "costs for 3 stages", "has 4");
  expectError(planOf("1F1B", {"--activation-gb", "x"}), "--activation-gb", "GB");
  for (const char* bandwidth : {"0", "-1", "nan", "inf", "1e305"}) {
    expectError(planOf("1F1B", {"--message-mb", "1", std::string("--bandwidth-gbs=") + bandwidth}),
                "--bandwidth-gbs", "above 0");
  }
  for (const char* bandwidth : {"1e-300", "0.0000001"}) {
    expectError(planOf("1F1B", {"--message-mb", "1", "--bandwidth-gbs", bandwidth}),
                "1000000 bytes", "hours");
  }
  expectError(planOf("1F1B", {"--activation-gb", "1", "--weights-gb", "9000000"}),
              "--weights-gb 9000000", "too large: at most 9223");
  expectError(planOf("1F1B", {"--activation-gb", "1", "--limit", "0"}), "--limit 0", "no memory");
  expectError(planOf("1F1B", {"--check", "--buffers", "some"}), "--buffers some", "blocking");
  expectError(planOf("1F1B", {"--check", "--buffers", "0"}), "--buffers 0", "at least 1");
  expectError(run({"plan", "--schedule", "1f1"}), "1f1", "1F1B");
  expectError(planOf("1F1B", {"--transfers", "-1"}), "--transfers -1",
              "in-time, torch, or a number from 0 to 1000000");
  expectError(planOf("1F1B", {"--credits", "-1"}), "--credits", "");
  expectError(planOf("1F1B", {"--forward-only", "--job-list"}), "schedule training only", "");
}

TEST_F(PlanCommand, AFileThatCannotBeReadIsAnError) {
  expectError(plan({"--schedule-file", path("none.csv")}), path("none.csv"), "No such file");
  expectError(plan({"--schedule-file", path("")}), "cannot read", "it is a folder");
  write("text.csv", "0F0garbage\n");
  expectError(plan({"--schedule-file", path("text.csv")}), path("text.csv") + ":1:1", "no action");
  write("empty.csv", "");
  expectError(plan({"--schedule-file", path("empty.csv")}), path("empty.csv"), "no actions");
  expectError(planOf("1F1B", {"--costs", path("none.json")}), path("none.json"), "No such file");
  write("costs.json", "{\"forward_ms\": 1,\n \"backward_ms\": }");
  expectError(planOf("1F1B", {"--costs", path("costs.json")}), path("costs.json"), "line 2");
  write("costs.json", R"({"forward": 1})");
  expectError(planOf("1F1B", {"--costs", path("costs.json")}), "forward is no key of a costs file",
              "forward_ms");
  write("costs.json", R"({"forward_ms": [1, 2]})");
  expectError(planOf("1F1B", {"--costs", path("costs.json")}), "2 stages", "has 4");
  expectError(planOf("1F1B", {"--costs-from", path("no logs")}), path("no logs"), "");
  expectError(plan({"--schedule", "1F1B", "--ranks", "3", "--micro-batches", "4", "--costs-from",
                    logs(sample(2))}),
              "4 stages", "has 3");
}

TEST_F(PlanCommand, CostsOfSeveralRunsAreAnError) {
  const std::string first = logs(sample(2), "first");
  const std::string second = logs(sample(2), "second");
  expectError(planOf("1F1B", {"--costs-from", first, "--costs-from", second}),
              "the inputs of --costs-from are of several runs: " + second + "/workerlog.0",
              "give the logs of one run only");
  logs(sample(2, 2), "mixed");
  for (const char* rank : {"2", "3"}) {
    const std::string log = "/workerlog." + std::string(rank);
    std::filesystem::copy_file(first + log, path("mixed") + log);
  }
  expectError(planOf("1F1B", {"--costs-from", path("mixed")}),
              "the inputs hold 2 runs, which are not merged", "ranks 2 and 3 of 4 in 2 files");
}

TEST_F(PlanCommand, CostsOfALogWithTwoRunsAreThoseOfTheLastWithAWarning) {
  const std::string first = logs(sample(2), "first");
  logs(sample(1, 4), "both");
  for (int rank = 0; rank < 4; ++rank) {
    const std::string log = "/workerlog." + std::to_string(rank);
    std::ofstream(path("both") + log, std::ios::app) << contents(first + log);
  }
  const ProgramRun ofLast = planOf("1F1B", {"--costs-from", first});
  EXPECT_THAT(ofLast.err, IsEmpty());
  const ProgramRun ofBoth = planOf("1F1B", {"--costs-from", path("both")});
  EXPECT_EQ(ofBoth.exitCode, 0);
  EXPECT_EQ(ofBoth.out, ofLast.out);
  EXPECT_THAT(ofBoth.err,
              AllOf(HasSubstr("warning: --costs-from uses the last of the 2 runs that the logs "
                              "hold"),
                    HasSubstr("--run N")));
}

// Faults while writing.

TEST_F(PlanCommand, UnsupportedOrRepeatedOutputsAreErrors) {
  for (const char* name : {"plan.png", "plan", "plan.svg.bak"}) {
    const ProgramRun result = planOf("1F1B", {"-o", path(name)});
    expectError(result, name, "--csv writes the schedule");
    for (const char* ending :
         {"NAME.json", "NAME.pftrace", "NAME.sqlite", "NAME.csv", "NAME.svg", "DIR/"}) {
      EXPECT_THAT(result.err, HasSubstr(ending));
    }
  }
  expectError(planOf("1F1B", {"-o", path("a.svg"), "-o", path("./a.svg")}), "a.svg", "twice");
  expectError(planOf("1F1B", {"-o", path("a.json"), "--csv", path("a.json")}), "a.json", "twice");
  expectError(planOf("1F1B", {"-o", path("no folder/a.svg")}), path("no folder/a.svg"), "folder");
  write("file", "");
  expectError(planOf("1F1B", {"-o", path("file") + "/"}), path("file"), "folder");
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(PlanCommand, WhenOneOutputFailsNoneAppears) {
  expectError(planOf("1F1B", {"-o", path("a.svg"), "--csv", path("b.csv"), "--costs-out",
                              path("no folder/c.json")}),
              path("no folder/c.json"), "folder");
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(PlanCommand, AFullDiskLeavesTheLogsAndFilesOfThePlanBefore) {
  ASSERT_EQ(planOf("1F1B", {"-o", path("plan/"), "-o", path("a.json")}).exitCode, 0);
  const auto everything = [this] {
    std::string text = contents(path("a.json"));
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path("plan"))) {
      files.insert(entry.path().string());
    }
    for (const std::string& file : files) text += file + "\n" + contents(file);
    return text;
  };
  const std::string before = everything();
  // The disk has room for the pieces that come first: nothing, some logs, all of them.
  for (const int room : {0, 1000, 3000, 10'000}) {
    const auto fillDisk = [room] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{.rlim_cur = static_cast<rlim_t>(room), .rlim_max = RLIM_INFINITY};
      setrlimit(RLIMIT_FSIZE, &limit);
    };
    const ProgramRun result =
        plan({"--schedule", "GPipe", "--ranks", "2", "--micro-batches", "16", "-o", path("plan"),
              "-o", path("a.json"), "-o", path("new/"), "-o", path("b.sqlite")},
             {.inChild = fillDisk});
    EXPECT_EQ(result.exitCode, 2) << room;
    EXPECT_EQ(everything(), before) << room;
    EXPECT_THAT(names(), testing::ElementsAre("a.json", "plan")) << room;
  }
}

TEST_F(PlanCommand, AnOutputThatFailsLeavesLogsThatTheNewPlanDoesNotHave) {
  ASSERT_EQ(planOf("1F1B", {"-o", path("plan/")}).exitCode, 0);
  const std::string log = contents(path("plan/workerlog.3"));
  expectError(plan({"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2", "-o",
                    path("plan/"), "-o", path("no folder/a.svg")}),
              path("no folder/a.svg"), "folder");
  EXPECT_EQ(contents(path("plan/workerlog.3")), log);
}

TEST_F(PlanCommand, AnOutputThatIsAFileOfAnotherOptionIsRefused) {
  const std::string costs = R"({"forward_ms": 1, "backward_ms": 2})";
  write("costs.json", costs);
  std::filesystem::create_symlink("costs.json", path("soft.json"));
  std::filesystem::create_hard_link(path("costs.json"), path("hard.json"));
  for (const char* name : {"costs.json", "soft.json", "hard.json"}) {
    for (const char* option : {"-o", "--costs-out", "--csv"}) {
      expectError(planOf("1F1B", {"--costs", path("costs.json"), option, path(name)}), path(name),
                  "is an input; choose another name");
    }
  }
  EXPECT_EQ(contents(path("costs.json")), costs);
}

TEST_F(PlanCommand, AnOutputThatIsALogOfTheMeasuredRunIsRefused) {
  const std::string folder = logs(sample());
  const std::string log = folder + "/workerlog.0";
  const std::string before = contents(log);
  std::filesystem::create_symlink(log, path("soft.json"));
  std::filesystem::create_hard_link(log, path("hard.json"));
  for (const char* name : {"soft.json", "hard.json"}) {
    expectError(planOf("1F1B", {"--costs-from", folder, "-o", path(name)}), path(name),
                "choose another name");
  }
  EXPECT_EQ(contents(log), before);
}

TEST_F(PlanCommand, FullDeviceIsAnErrorAndAClosedPipeIsNone) {
  for (const char* result : {"--width=100", "--json", "--job-list", "--check", "--csv=-"}) {
    const std::vector<std::string> arguments = {"--schedule",      "1F1B", "--ranks", "4",
                                                "--micro-batches", "8",    result};
    const ProgramRun full = plan(arguments, {.outFile = "/dev/full"});
    EXPECT_EQ(full.exitCode, 2) << result;
    EXPECT_THAT(full.err, HasSubstr("standard output"));
    const auto closePipe = [] {
      int ends[2];
      if (::pipe(ends) != 0) return;
      ::close(ends[0]);
      ::dup2(ends[1], STDOUT_FILENO);
    };
    EXPECT_EQ(plan(arguments, {.inChild = closePipe}).exitCode, 0) << result;
  }
}

}  // namespace
}  // namespace pipetrace
