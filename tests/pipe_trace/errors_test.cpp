#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// Faults of the input.

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
  EXPECT_THAT(names(), testing::IsEmpty());
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

TEST_F(PipeTrace, InputWithoutAJobIsReportedOnce) {
  write("workerlog.0", "");
  const ProgramRun result = run({path("workerlog.0")});
  expectError(result, "it is empty", "workerlog.<rank>");
  EXPECT_EQ(result.err.find("it is empty"), result.err.rfind("it is empty"));
}

TEST_F(PipeTrace, TraceWithoutComputeJobsIsAWarning) {
  write("other.json", R"({"traceEvents": [{"ph": "X", "name": "io", "ts": 1, "dur": 2, "pid": 1,)"
                      R"( "tid": 1}]})");
  const ProgramRun result = run({path("other.json"), "--strict", "-o", path("a.json")});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no compute job (forward, backward, ...) in the input"),
                                HasSubstr("docs/log-format.md")));
  EXPECT_TRUE(fs::exists(path("a.json")));
}

TEST_F(PipeTrace, EmptyLogAmongOthersIsAWarning) {
  const std::string folder = logs(sample());
  write("my logs/workerlog.3", "");
  const ProgramRun result = run({folder, "--strict"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.out, HasSubstr("3 ranks"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("workerlog.3"), HasSubstr("empty")));
}

TEST_F(PipeTrace, MissingLogIsAFindingAlsoInAProfile) {
  const std::string folder = logs(sample());
  fs::remove(folder + "/workerlog.1");
  const ProgramRun result = run({folder, "--strict", "-o", path("a.json")});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, HasSubstr("3 of 4 ranks are there: rank 1 is missing"));
  const ProgramRun fromProfile = run({path("a.json"), "--strict"});
  EXPECT_EQ(fromProfile.exitCode, 1);
  EXPECT_THAT(fromProfile.err, HasSubstr("3 of 4 ranks are there: rank 1 is missing"));
}

TEST_F(PipeTrace, LogsOfAnOlderRunAmongTheOthersAreAnErrorThatNamesBothRuns) {
  const std::string folder = logs(sample());
  const Simulation smaller = simulate(buildSchedule("1F1B", 2, 8), Costs::equal(2, {10, 20}));
  for (const int rank : {0, 1}) fs::remove(folder + "/workerlog." + std::to_string(rank));
  writeJobLogs(smaller.timeline, folder);
  expectError(run({folder}), "ranks 0 and 1 of 2 in 2 files", "ranks 2 and 3 of 4 in 2 files");
  const ProgramRun one = run({folder + "/workerlog.0", folder + "/workerlog.1", "--strict"});
  EXPECT_EQ(one.exitCode, 0) << one.err;
}

TEST_F(PipeTrace, LogOfAnotherProgramIsAnError) {
  fs::create_directory(path("logs"));
  write("logs/workerlog.0", "epoch 1 loss 2.3\nepoch 2 loss 2.1\n");
  expectError(run({path("logs"), "-o", path("a.json")}), path("logs/workerlog.0"),
              "Profiler Info:");
  EXPECT_EQ(names(), std::vector<std::string>{"logs"});
}

TEST_F(PipeTrace, BinaryInputIsReportedAsNoText) {
  std::string junk = "#!\n";
  for (int i = 0; i < 100'000; ++i) junk += static_cast<char>(i * 7919 >> 3);
  write("junk", junk);
  const ProgramRun result = run({path("junk")});
  expectError(result, path("junk") + ": it is not text, and in no format that pipe-trace knows",
              "give a folder of workerlog.<rank> files");
  EXPECT_THAT(result.err, testing::Not(HasSubstr("lines")));
  // A text with colours and a progress bar is text.
  write("train.log", "\x1b[32mepoch\x1b[0m 1\rloss 2\a\n\tend\f\n");
  expectError(run({path("train.log")}), "it holds 2 lines", "Profiler Info:");
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

// Faults of the command line.

TEST_F(PipeTrace, NoInputIsAnError) { expectError(run({}), "INPUT", "--help"); }

TEST_F(PipeTrace, UnknownOptionIsAnError) {
  expectError(run({logs(sample()), "--colour"}), "--colour", "--help");
  const ProgramRun withoutInput = run({"--colour"});
  expectError(withoutInput, "--colour", "--help");
  EXPECT_THAT(withoutInput.err, testing::Not(HasSubstr("INPUT")));
}

TEST_F(PipeTrace, TheSwitchOfPipeRunIsPointedTo) {
  for (const char* spelling : {"--visualize_pipline", "--visualize-pipeline"}) {
    expectError(run({logs(sample()), spelling}), "belongs to pipe-run", "-- PROGRAM");
  }
}

TEST_F(PipeTrace, HelpSaysHowListsAreRepeated) {
  const std::string help = run({"--help"}).out;
  for (const char* entry : {"  --ranks LIST  ", "  --skip LIST  ", "  --devices LIST  "}) {
    EXPECT_THAT(help, HasSubstr(entry));
  }
  EXPECT_THAT(help, HasSubstr("INPUT ..."));
  EXPECT_THAT(help, testing::Not(HasSubstr("LIST ...")));
  EXPECT_THAT(help, HasSubstr("-o,--output FILE  "));
}

TEST_F(PipeTrace, UnsupportedEndingIsAnErrorBeforeAnythingIsRead) {
  for (const char* name : {"profile.png", "profile", "profile.json.bak", ""}) {
    const ProgramRun result = run({path("not even there"), "-o", name});
    expectError(result, name, "NAME.pftrace");
    for (const char* ending : {".json", ".sqlite", ".csv", ".svg"}) {
      EXPECT_THAT(result.err, HasSubstr("NAME" + std::string(ending)));
    }
  }
}

TEST_F(PipeTrace, SameOutputTwiceIsAnError) {
  const std::string folder = logs(sample());
  expectError(run({folder, "-o", path("a.json"), "-o", path("./a.json")}), "a.json", "twice");
  expectError(run({folder, "-o", "-", "-o", "-"}), "-", "twice");
  const auto inFolder = [this] { EXPECT_EQ(::chdir(folder_.c_str()), 0); };
  expectError(run({folder, "-o", "y.json", "-o", "./y.json"}, {.inChild = inFolder}), "y.json",
              "twice");
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

TEST_F(PipeTrace, OutputThatWasReadOfAFolderIsAnError) {
  fs::create_directory(path("traces"));
  const std::string foreign =
      R"({"traceEvents": [{"ph": "X", "name": "io", "ts": 1, "dur": 2, "pid": 0, "tid": 1}]})";
  write("traces/a.json", foreign);
  fs::create_hard_link(path("traces/a.json"), path("hard.json"));
  for (const std::string& output : {path("traces/a.json"), path("hard.json")}) {
    const ProgramRun result = run({path("traces"), "-o", path("new.json"), "-o", output});
    expectError(result, output, "another name");
  }
  EXPECT_EQ(contents(path("traces/a.json")), foreign);
  EXPECT_FALSE(fs::exists(path("new.json")));
  EXPECT_EQ(run({path("traces"), "-o", path("traces/new.json")}).exitCode, 0);
  // Our own profile beside logs is left out, and may be replaced.
  const std::string folder = logs(sample());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run({folder, "-o", folder + "/own.json"}).exitCode, 0);
}

TEST_F(PipeTrace, OutputThatWouldReplaceWhatAnotherProgramPutIntoTheFolderIsAnError) {
  const std::string folder = logs(sample());
  const std::string foreign =  // of a rank that the logs do not have, so it is left out
      R"([{"ph": "X", "name": "io", "ts": 1, "dur": 2, "pid": 99, "tid": 1}])";
  write("my logs/trace.json", foreign);
  write("my logs/report.json", R"({"loss": [1, 2]})");
  write("my logs/junk.sqlite", "no database");
  fs::create_symlink("report.json", path("my logs/link.json"));
  for (const char* name : {"trace.json", "report.json", "junk.sqlite", "link.json"}) {
    const std::string output = folder + "/" + name;
    const std::string before = contents(output);
    expectError(run({folder, "-o", output}), output, "another name");
    expectError(run({folder, "-o", output, "--absolute-time"}), output, "another name");
    EXPECT_EQ(contents(output), before);
  }
  expectError(run({folder, "--follow", "-o", folder + "/report.json"}), "report.json",
              "another name");
  EXPECT_EQ(contents(folder + "/report.json"), R"({"loss": [1, 2]})");
  // Elsewhere it is a file like any other, and only what is found in a folder is protected.
  write("report.json", "{}");
  write("my logs/other.csv", "a,b");
  EXPECT_EQ(run({folder, "-o", path("report.json"), "-o", folder + "/other.csv"}).exitCode, 0);
}

TEST_F(PipeTrace, ProfilesOfOursInTheFolderOfTheLogsAreReplaced) {
  const std::string folder = logs(sample());
  write("my logs/empty.json", "");
  for (const char* name : {"p.json", "p.pftrace", "p.sqlite", "p.csv", "empty.json"}) {
    for (int i = 0; i < 2; ++i) {
      const ProgramRun result = run({folder, "-o", folder + "/" + name, "--strict"});
      EXPECT_EQ(result.exitCode, 0) << name << result.err;
    }
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run({folder, "--follow", "-o", folder + "/live.json"}).exitCode, 0);
  }
  EXPECT_EQ(run({folder, "-o", folder + "/live.json", "--strict"}).exitCode, 0);
}

TEST_F(PipeTrace, SummaryAndProfileCannotBothHaveStandardOutput) {
  expectError(run({logs(sample()), "--json", "-o", "-"}), "standard output", "file");
}

TEST_F(PipeTrace, SummaryAsJsonMayBeQuiet) {
  const std::string folder = logs(sample());
  const ProgramRun quiet = run({folder, "--json", "--quiet"});
  EXPECT_EQ(quiet.exitCode, 0) << quiet.err;
  EXPECT_EQ(quiet.out, run({folder, "--json"}).out);
}

TEST_F(PipeTrace, FollowTakesAlignNoneOnly) {
  const std::string folder = logs(sample());
  expectError(run({folder, "--follow", "--align", "log", "-o", path("a.json")}), "--follow",
              "as logged");
  // It gets past the options, to what cannot be followed.
  expectError(run({folder, "--follow", "--align", "none", "-o", path("a.csv")}), "a.csv", "JSON");
}

// Faults while writing.

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
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{folder},
                                                    {folder, "-o", "-"},
                                                    {folder, "--json"},
                                                    {"--help"},
                                                    {"--version"}}) {
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

TEST_F(PipeTrace, InterruptWhileWritingLeavesTheOldFileAndNoOther) {
  const std::string folder = logs(sample(40));
  write("a.json", "old");
  // The first output is written, but none is committed before the second, and that one waits: its
  // pipe is full, and nobody reads it.
  const auto nobodyReads = [] {
    int ends[2];
    if (::pipe(ends) == 0) ::dup2(ends[1], STDOUT_FILENO);
  };
  bool caught = false;
  const auto interruptWhenWriting = [&](pid_t program) {
    for (int tries = 0; tries < 60'000 && !caught; ++tries) {
      for (const auto& entry : fs::directory_iterator(folder_)) {
        const std::string name = entry.path().filename();
        caught = caught || (name.starts_with("a.json.part") && entry.file_size() > 0);
      }
      ::usleep(1000);
    }
    ::kill(program, SIGINT);
  };
  const ProgramRun result = run({folder, "-o", path("a.json"), "-o", "-"},
                                {.inChild = nobodyReads, .meanwhile = interruptWhenWriting});
  ASSERT_TRUE(caught);
  EXPECT_EQ(result.signal, SIGINT);
  EXPECT_EQ(names(), (std::vector<std::string>{"a.json", "my logs"}));
  EXPECT_EQ(contents(path("a.json")), "old");
}

}  // namespace
}  // namespace pipetrace
