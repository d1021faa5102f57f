#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/program_run.h"
#include "apps/simulated_logs.h"
#include "schedule/builders.h"
#include "schedule/simulate.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A folder with blanks in its name, removed at the end.
class PipeTrace : public testing::Test {
 protected:
  PipeTrace() : folder_(fs::path(testing::TempDir()) / ("pipe trace " + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~PipeTrace() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static ProgramRun run(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.insert(arguments.begin(), PIPE_TRACE_PROGRAM);
    return runProgram(arguments, setting);
  }

  /// 1F1B on 4 ranks with 8 micro-batches: 4 * (16 + 2) jobs, 4 * 2 * 3 * 8 / 4 messages per step.
  static Simulation sample(int steps = 1) {
    Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
    costs.transfer = kNsPerMs;
    costs.lr = kNsPerMs / 10;
    costs.optimizer = 2 * kNsPerMs;
    return simulate(oneFOneB(4, 8), costs, {.steps = steps, .begin = 1'697'793'307'213'760'986});
  }

  std::string logs(const Simulation& simulation, const std::string& name = "my logs") const {
    writeLogs(simulation.timeline, path(name));
    return path(name);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      list.push_back(entry.path().filename());
    }
    std::sort(list.begin(), list.end());
    return list;
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }

  /// Could not: exit code 2, nothing on standard output, one line that names what and advises.
  static void expectError(const ProgramRun& result, const std::string& what,
                          const std::string& advice) {
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, AllOf(HasSubstr(what), HasSubstr(advice)));
    EXPECT_THAT(result.err, EndsWith("\n"));
  }

  fs::path folder_;
};

/// The slices of a Chrome profile, and how many are bubbles.
struct Slices {
  std::size_t all = 0;
  std::size_t bubbles = 0;
};

Slices slicesOf(const json& profile) {
  Slices slices;
  for (const json& event : profile.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++slices.all;
    slices.bubbles += event.at("name").get<std::string>().starts_with("bubble");
  }
  return slices;
}

TEST_F(PipeTrace, LogsBecomeAProfileAndASummary) {
  const ProgramRun result = run({logs(sample()), "-o", path("my profile.json")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, StartsWith("4 ranks, 1 step, schedule 1F1B, 8 micro-batches\n"));
  EXPECT_THAT(result.out, HasSubstr("\n     3  240 ms  "));

  int jobs = 0;
  int transfers = 0;
  int bubbles = 0;
  int arrows = 0;
  int counters = -1;
  const std::string line = result.out.substr(result.out.find("wrote "));
  ASSERT_EQ(std::sscanf(line.c_str() + std::string("wrote " + path("my profile.json")).size(),
                        ": %d jobs, %d transfers, %d bubbles, %d arrows, %d counter samples", &jobs,
                        &transfers, &bubbles, &arrows, &counters),
            5)
      << line;
  EXPECT_EQ(jobs, 72);
  EXPECT_EQ(transfers, 2 * 48);
  EXPECT_GT(arrows, 0);
  EXPECT_EQ(counters, 0);
  const Slices slices = slicesOf(json::parse(contents(path("my profile.json"))));
  EXPECT_EQ(slices.all, static_cast<std::size_t>(jobs + transfers + bubbles));
  EXPECT_EQ(slices.bubbles, static_cast<std::size_t>(bubbles));
}

TEST_F(PipeTrace, ProfileReadsBackToTheSameSummaryAndTheSameProfile) {
  const std::string folder = logs(sample(3));
  const ProgramRun fromLogs = run({folder, "--json", "-o", path("first.json")});
  const ProgramRun fromProfile = run({path("first.json"), "--json", "-o", path("second.json")});
  EXPECT_EQ(fromProfile.exitCode, 0);
  EXPECT_EQ(fromLogs.out, fromProfile.out);
  EXPECT_EQ(contents(path("first.json")), contents(path("second.json")));
}

TEST_F(PipeTrace, JsonSummaryHasThePlansTimesToTheNanosecond) {
  const ProgramRun result = run({logs(sample(2)), "--json"});
  const json summary = json::parse(result.out);
  for (const json& rank : summary.at("ranks")) EXPECT_EQ(rank.at("busy_ns"), 480'000'000);
  const json& step = summary.at("steps")[0];
  for (const json& rank : step.at("ranks")) {
    EXPECT_EQ(rank.at("busy_ns").get<Nanoseconds>() + rank.at("idle_ns").get<Nanoseconds>(),
              step.at("window_ns").get<Nanoseconds>());
  }
}

TEST_F(PipeTrace, DashIsStandardOutputAndTheRestGoesToStandardError) {
  const std::string folder = logs(sample());
  const ProgramRun result = run({folder, "-o", "-"});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_GT(slicesOf(json::parse(result.out)).all, 100U);
  EXPECT_THAT(result.err, StartsWith("wrote -: 72 jobs, 96 transfers, "));
}

TEST_F(PipeTrace, DashIsStandardInput) {
  const std::string text = contents(logs(sample()) + "/workerlog.2");
  const ProgramRun result = run({"-", "--json"}, {.input = text});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(json::parse(result.out).at("ranks")[0].at("rank"), 2);
}

TEST_F(PipeTrace, BubblesAndFlowsCanBeLeftOut) {
  const std::string folder = logs(sample());
  const ProgramRun bare =
      run({folder, "--no-bubbles", "--no-flows", "-o", path("bare.json"), "-q"});
  EXPECT_EQ(bare.exitCode, 0);
  const json profile = json::parse(contents(path("bare.json")));
  EXPECT_EQ(slicesOf(profile).bubbles, 0U);
  EXPECT_EQ(slicesOf(profile).all, 72U + 96U);
  EXPECT_THAT(contents(path("bare.json")), Not(HasSubstr("bind_id")));

  run({folder, "-o", path("full.json")});
  EXPECT_GT(slicesOf(json::parse(contents(path("full.json")))).bubbles, 0U);
  EXPECT_THAT(contents(path("full.json")), HasSubstr("bind_id"));
  // Also those that a profile already had.
  run({path("full.json"), "--no-bubbles", "-o", path("again.json")});
  EXPECT_EQ(slicesOf(json::parse(contents(path("again.json")))).bubbles, 0U);
}

TEST_F(PipeTrace, SeveralOutputsAreTheSameProfile) {
  const ProgramRun result = run({logs(sample()), "-o", path("a.json"), "-o", path("b.json")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(contents(path("a.json")), contents(path("b.json")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("wrote " + path("a.json") + ":"),
                                HasSubstr("wrote " + path("b.json") + ":")));
}

TEST_F(PipeTrace, QuietPrintsErrorsOnly) {
  const std::string folder = logs(sample());
  std::ofstream(folder + "/workerlog.0", std::ios::app) << "Profiler Info: Job (1), type = forw";
  const ProgramRun result = run({folder, "-q", "-o", path("a.json")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_EQ(run({path("missing"), "-q"}).exitCode, 2);
  EXPECT_THAT(run({path("missing"), "-q"}).err, HasSubstr("missing"));
}

TEST_F(PipeTrace, HelpAndVersionGoToStandardOutput) {
  const ProgramRun help = run({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  for (const char* word : {"INPUT", "--output", "--json", "--no-bubbles", "--no-flows", "--strict",
                           "--quiet", "--run", "--version", "Exit codes"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  EXPECT_THAT(help.err, IsEmpty());
  const ProgramRun version = run({"--version"});
  EXPECT_EQ(version.exitCode, 0);
  EXPECT_THAT(version.out, StartsWith("pipe-trace "));
}

// What is wrong in the input.

TEST_F(PipeTrace, CutOffLineIsLeftOutAndIsAFindingUnderStrict) {
  const std::string folder = logs(sample());
  const std::string log = folder + "/workerlog.3";
  const std::string whole = contents(log);
  fs::resize_file(log, whole.size() / 2 + 20);
  const ProgramRun result = run({folder, "-o", path("a.json")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr(log), HasSubstr("cut off")));
  EXPECT_THAT(result.out, HasSubstr("4 ranks"));
  EXPECT_EQ(run({folder, "--strict", "-o", path("b.json")}).exitCode, 1);
  EXPECT_EQ(contents(path("a.json")), contents(path("b.json")));
}

TEST_F(PipeTrace, CleanLogsAreNoFindingUnderStrict) {
  EXPECT_EQ(run({logs(sample()), "--strict"}).exitCode, 0);
}

TEST_F(PipeTrace, MissingFolderIsAnError) {
  expectError(run({path("no such folder"), "-o", path("a.json")}), path("no such folder"),
              "check the name");
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(PipeTrace, FolderWithoutLogsIsAnError) {
  fs::create_directory(path("logs"));
  write("logs/readme.txt", "hello");
  expectError(run({path("logs"), "-o", path("a.json")}), path("logs"), "workerlog.<rank>");
  EXPECT_EQ(names(), std::vector<std::string>{"logs"});
}

TEST_F(PipeTrace, EmptyLogIsAnError) {
  fs::create_directory(path("logs"));
  write("logs/workerlog.0", "");
  expectError(run({path("logs"), "-o", path("a.json")}), path("logs/workerlog.0"), "empty");
  EXPECT_EQ(names(), std::vector<std::string>{"logs"});
}

TEST_F(PipeTrace, EmptyLogAmongOthersIsAWarning) {
  const std::string folder = logs(sample());
  write("my logs/workerlog.3", "");
  const ProgramRun result = run({folder, "--strict"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.out, HasSubstr("3 ranks"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("workerlog.3"), HasSubstr("empty")));
}

TEST_F(PipeTrace, LogOfAnotherProgramIsAnError) {
  fs::create_directory(path("logs"));
  write("logs/workerlog.0", "epoch 1 loss 2.3\nepoch 2 loss 2.1\n");
  expectError(run({path("logs"), "-o", path("a.json")}), path("logs/workerlog.0"),
              "Profiler Info:");
  EXPECT_EQ(names(), std::vector<std::string>{"logs"});
}

TEST_F(PipeTrace, UnreadableFileIsAnError) {
  const std::string folder = logs(sample());
  fs::permissions(folder + "/workerlog.1", fs::perms::none);
  // Root may read anything, until it has given that up for good.
  const auto dropRootsRights = [] {
    constexpr int kDacOverride = 1;
    constexpr int kDacReadSearch = 2;
    ::prctl(PR_CAPBSET_DROP, kDacOverride, 0, 0, 0);
    ::prctl(PR_CAPBSET_DROP, kDacReadSearch, 0, 0, 0);
  };
  const ProgramRun probe =
      runProgram({"/bin/cat", folder + "/workerlog.1"}, {.inChild = dropRootsRights});
  if (probe.exitCode == 0) GTEST_SKIP() << "permissions do not bind here";
  expectError(run({folder, "-o", path("a.json")}, {.inChild = dropRootsRights}),
              folder + "/workerlog.1", "permission");
  EXPECT_FALSE(fs::exists(path("a.json")));
}

TEST_F(PipeTrace, LinksThatLeadToThemselvesAndFilesUsedAsFoldersAreErrors) {
  fs::create_symlink(path("loop"), path("loop"));
  expectError(run({path("loop")}), path("loop"), "links");
  write("file", "x");
  expectError(run({path("file/workerlog.0")}), path("file/workerlog.0"), "");
}

TEST_F(PipeTrace, RunsOfOneLogAreChosenByNumber) {
  const std::string folder = logs(sample(1));
  writeLogs(sample(2).timeline, folder);  // appended: a second run in the same files
  const auto steps = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {folder, "--json"});
    return json::parse(run(arguments).out).at("steps").size();
  };
  EXPECT_EQ(steps({}), 2U);
  EXPECT_EQ(steps({"--run", "0"}), 1U);
  EXPECT_EQ(steps({"--run", "1"}), 2U);
  expectError(run({folder, "--run", "2"}), "2 runs", "counted from 0");
  EXPECT_EQ(run({folder, "--run", "-1"}).exitCode, 2);
}

// What is wrong on the command line.

TEST_F(PipeTrace, NoInputIsAnError) { expectError(run({}), "INPUT", "--help"); }

TEST_F(PipeTrace, UnknownOptionIsAnError) {
  expectError(run({logs(sample()), "--colour"}), "--colour", "--help");
}

TEST_F(PipeTrace, UnsupportedEndingIsAnErrorBeforeAnythingIsRead) {
  for (const char* name : {"profile.svg", "profile", "profile.json.bak", ""}) {
    expectError(run({path("not even there"), "-o", name}), name, "NAME.json");
  }
}

TEST_F(PipeTrace, SameOutputTwiceIsAnError) {
  const std::string folder = logs(sample());
  expectError(run({folder, "-o", path("a.json"), "-o", path("./a.json")}), "a.json", "twice");
  expectError(run({folder, "-o", "-", "-o", "-"}), "-", "twice");
  fs::create_symlink(path("a.json"), path("b.json"));
  expectError(run({folder, "-o", path("a.json"), "-o", path("b.json")}), "b.json", "twice");
  EXPECT_FALSE(fs::exists(path("a.json")));
}

TEST_F(PipeTrace, OutputThatIsAnInputIsAnError) {
  const std::string folder = logs(sample());
  run({folder, "-o", path("a.json")});
  const std::string before = contents(path("a.json"));
  expectError(run({path("a.json"), "-o", path("a.json")}), "a.json", "another name");
  fs::create_hard_link(path("a.json"), path("hard.json"));
  expectError(run({path("a.json"), "-o", path("hard.json")}), "hard.json", "another name");
  fs::create_symlink(path("my logs/workerlog.0"), path("log.json"));
  expectError(run({folder, "-o", path("log.json")}), "log.json", "another name");
  EXPECT_EQ(contents(path("a.json")), before);
  // A profile among the logs is no input.
  EXPECT_EQ(run({folder, "-o", folder + "/profile.json"}).exitCode, 0);
}

TEST_F(PipeTrace, SummaryAndProfileCannotBothHaveStandardOutput) {
  expectError(run({logs(sample()), "--json", "-o", "-"}), "standard output", "file");
}

// What is wrong while writing.

TEST_F(PipeTrace, FullDiskIsAnErrorAndLeavesNothing) {
  const std::string folder = logs(sample());
  write("a.json", "as before");
  const auto smallFilesOnly = [] {
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  };
  const ProgramRun result =
      run({folder, "-o", path("a.json"), "-o", path("b.json")}, {.inChild = smallFilesOnly});
  expectError(result, path("a.json"), "limit");
  EXPECT_EQ(names(), (std::vector<std::string>{"a.json", "my logs"}));
  EXPECT_EQ(contents(path("a.json")), "as before");
}

TEST_F(PipeTrace, FullDeviceIsAnError) {
  const std::string folder = logs(sample());
  fs::create_symlink("/dev/full", path("full.json"));
  expectError(run({folder, "-o", path("full.json")}), path("full.json"), "free some space");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{folder}, {folder, "-o", "-"}, {folder, "--json"}}) {
    const ProgramRun result = run(arguments, {.outFile = "/dev/full"});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err, HasSubstr("standard output"));
  }
}

TEST_F(PipeTrace, WhenOneOutputFailsNoneAppears) {
  const std::string folder = logs(sample());
  expectError(run({folder, "-o", path("a.json"), "-o", path("no folder/b.json")}),
              path("no folder/b.json"), "create its folder");
  EXPECT_EQ(names(), std::vector<std::string>{"my logs"});
  fs::create_directory(path("dir.json"));
  expectError(run({folder, "-o", path("dir.json")}), path("dir.json"), "name a file");
}

TEST_F(PipeTrace, ClosedPipeIsNoError) {
  const std::string folder = logs(sample());
  const auto closePipe = [] {
    int ends[2];
    if (::pipe(ends) != 0) return;
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
  };
  EXPECT_EQ(run({folder}, {.inChild = closePipe}).exitCode, 0);
  EXPECT_EQ(run({folder, "-o", "-"}, {.inChild = closePipe}).exitCode, 0);
}

TEST_F(PipeTrace, InterruptWhileWritingLeavesNothing) {
  const std::string folder = logs(sample(600));
  bool caught = false;
  const auto interruptWhenWriting = [&](pid_t program) {
    while (!caught && !fs::exists(path("a.json")) && ::kill(program, 0) == 0) {
      for (const std::string& name : names()) caught = caught || name.starts_with("a.json.part");
    }
    ::kill(program, SIGINT);
  };
  const ProgramRun result =
      run({folder, "-o", path("a.json")}, {.meanwhile = interruptWhenWriting});
  ASSERT_TRUE(caught);
  EXPECT_EQ(result.signal, SIGINT);
  EXPECT_EQ(names(), std::vector<std::string>{"my logs"});
}

}  // namespace
}  // namespace pipetrace
