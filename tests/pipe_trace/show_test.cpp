#include <fcntl.h>
#include <sys/ioctl.h>

#include <cstdlib>

#include "tests/pipe_trace/fixture.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class ShowCommand : public PipeTrace {
 protected:
  static ProgramRun show(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.insert(arguments.begin(), "show");
    return run(arguments, setting);
  }

  /// 1F1B with the papers' times: all steps alike, one after the other.
  static Simulation papersRun(int steps) {
    return simulate(buildSchedule("1F1B", 4, 8), Costs::equal(4, {kNsPerMs, 2 * kNsPerMs}),
                    {.steps = steps, .begin = 7, .stepsStartTogether = true});
  }
};

std::size_t longestLine(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST_F(ShowCommand, StepIsDrawnAsTheScheduleIs) {
  const ProgramRun result = show({logs(papersRun(1)), "--width", "110"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out,
              StartsWith("step 0, the only one: 33.00 ms, bubble ratio 0.2727\n       |0  "));
  EXPECT_THAT(result.out, HasSubstr("\nrank 2 -- -- F0 F1 -- -- B0=== F2 B1=== F3 B2=== F4 B3=== "
                                    "F5 B4=== F6 B5=== F7 B6=== -- B7=== -- -- -- --\n"));
  EXPECT_THAT(result.out, HasSubstr("\nF forward, B backward, - idle by the schedule\n"));
}

TEST_F(ShowCommand, CausesOfIdleTimeHaveMarks) {
  // Stage 2 takes twice as long and the optimizer as long as a backward: the others wait for both.
  Costs costs = Costs::equal(4, {kNsPerMs, 2 * kNsPerMs});
  costs.stages[2].forward *= 2;
  costs.stages[2].backward *= 2;
  costs.optimizer = 2 * kNsPerMs;
  const std::string folder =
      logs(simulate(buildSchedule("1F1B", 4, 8), costs, {.steps = 3, .stepsStartTogether = true}));
  const std::string out = show({folder, "--step", "1", "--width", "250"}).out;
  EXPECT_THAT(out, AllOf(HasSubstr("##"), HasSubstr("opt__"), HasSubstr("- idle by the schedule"),
                         HasSubstr("_ sync"), HasSubstr("# imbalance"), Not(HasSubstr("~"))));
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("rank 2")) {
      EXPECT_THAT(line, Not(HasSubstr("#"))) << "it waits for nobody";
    }
  }
}

TEST_F(ShowCommand, CulpritsAreInATableBelowTheChart) {
  Costs costs = Costs::equal(4, {kNsPerMs, 2 * kNsPerMs});
  costs.stages[2].forward *= 2;
  costs.stages[2].backward *= 2;
  const std::string folder =
      logs(simulate(buildSchedule("1F1B", 4, 8), costs, {.steps = 2, .stepsStartTogether = true}));
  const std::string out = show({folder, "--step", "1"}).out;
  const std::size_t table = out.find("\n\nidle time with a culprit\n   waits     for ");
  ASSERT_NE(table, std::string::npos);
  // Each of the others waits for stage 2 alone; rank 3 all along, the first two while it drains.
  for (const char* row : {"rank 0  rank 2", "rank 1  rank 2", "rank 3  rank 2"}) {
    EXPECT_NE(out.find(row, table), std::string::npos) << row;
  }
  EXPECT_EQ(out.find("for rank 3", table), std::string::npos);
  const std::string without = show({folder, "--step", "1", "--no-bubbles"}).out;
  EXPECT_THAT(without, Not(HasSubstr("culprit")));
}

TEST_F(ShowCommand, TimesOfARunAreScaledToTheWidth) {
  const ProgramRun result = show({logs(sample(2)), "--step", "1", "--width", "80"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  std::istringstream lines(result.out);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("rank ")) continue;
    EXPECT_LE(line.size(), 80U);
    EXPECT_THAT(line, AllOf(HasSubstr("F3"), HasSubstr("B7"), HasSubstr("--")));
    ++rows;
  }
  EXPECT_EQ(rows, 4);
}

TEST_F(ShowCommand, WithoutATerminalLinesHave100Columns) {
  const ProgramRun result = show({logs(sample())}, {.inChild = [] { ::unsetenv("COLUMNS"); }});
  EXPECT_LE(longestLine(result.out), 100U);
  EXPECT_GE(longestLine(result.out), 90U);
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
}

TEST_F(ShowCommand, WithoutATerminalLinesHaveAsManyColumnsAsTheVariableSays) {
  const ProgramRun result =
      show({logs(sample())}, {.inChild = [] { ::setenv("COLUMNS", "140", 1); }});
  EXPECT_LE(longestLine(result.out), 140U);
  EXPECT_GE(longestLine(result.out), 130U);
}

TEST_F(ShowCommand, LastCompleteStepIsTheDefault) {
  const std::string folder = logs(papersRun(3));
  EXPECT_THAT(show({folder}).out, StartsWith("step 2 of 0 to 2: "));
  // Cut off in its last step, as a run that was stopped is.
  const std::string log = folder + "/workerlog.3";
  std::string text = contents(log);
  text.resize(text.rfind("job_start_time"));
  write("my logs/workerlog.3", text);
  const ProgramRun stopped = show({folder});
  EXPECT_EQ(stopped.exitCode, 0);
  EXPECT_THAT(stopped.out, StartsWith("step 1 of 0 to 2: "));
  EXPECT_THAT(stopped.err, HasSubstr("cut off"));
}

TEST_F(ShowCommand, StepsAreChosenByNumber) {
  const std::string folder = logs(papersRun(3));
  EXPECT_THAT(show({folder, "--step", "0"}).out, StartsWith("step 0 of 0 to 2: "));
  expectError(show({folder, "--step", "3"}), "no step 3", "3 from 0 to 2");
  expectError(show({folder, "--step", "-1"}), "--step", "--help");
}

TEST_F(ShowCommand, ProfilesAndPipesAreShownLikeLogs) {
  const std::string folder = logs(papersRun(1));
  const std::string out = show({folder}).out;
  run({folder, "-o", path("a profile.json")});
  EXPECT_EQ(show({path("a profile.json")}).out, out);
  EXPECT_EQ(show({"-"}, {.input = contents(path("a profile.json"))}).out, out);
}

TEST_F(ShowCommand, WrongInputsAreErrors) {
  expectError(show({}), "INPUT", "--help");
  expectError(show({path("nothing there")}), path("nothing there"), "check the name");
  expectError(show({logs(sample()), "--width", "3"}), "--width", "20");
  write("io.json", R"({"traceEvents": [{"ph": "X", "name": "io", "ts": 1, "dur": 2, "pid": 1,)"
                   R"( "tid": 1}]})");
  const ProgramRun noJobs = show({path("io.json")});
  EXPECT_EQ(noJobs.exitCode, 2);
  EXPECT_THAT(noJobs.err, HasSubstr("no step to draw"));
  EXPECT_THAT(noJobs.out, IsEmpty());
}

TEST_F(ShowCommand, FullDeviceIsAnErrorAndAClosedPipeIsNone) {
  const std::string folder = logs(sample());
  EXPECT_EQ(show({folder}, {.outFile = "/dev/full"}).exitCode, 2);
  const auto closePipe = [] {
    int ends[2];
    if (::pipe(ends) != 0) return;
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
  };
  EXPECT_EQ(show({folder}, {.inChild = closePipe}).exitCode, 0);
}

TEST_F(ShowCommand, HelpListsItsOptions) {
  const ProgramRun help = show({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--step"), HasSubstr("--width"), HasSubstr("Exit codes"),
                              HasSubstr("Example")));
}

/// The program's output on a terminal of that many columns.
std::string onTerminal(const std::vector<std::string>& arguments, unsigned short columns,
                       const char* noColor) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return "no terminal";
  const winsize size{.ws_row = 50, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  const std::string name = ::ptsname(master);
  const auto takeTerminal = [&] {
    const int terminal = ::open(name.c_str(), O_RDWR | O_NOCTTY);
    ::ioctl(terminal, TIOCSWINSZ, &size);
    ::dup2(terminal, STDOUT_FILENO);
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    if (noColor != nullptr) ::setenv("NO_COLOR", noColor, 1);
  };
  std::string text;
  const auto readAll = [&](pid_t) {
    char buffer[4096];
    ssize_t n = 0;
    while ((n = ::read(master, buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<std::size_t>(n));
    }
  };
  std::vector<std::string> all = arguments;
  all.insert(all.begin(), test::inBuild("bin/pipe-trace"));
  runProgram(all, {.inChild = takeTerminal, .meanwhile = readAll});
  ::close(master);
  return text;
}

TEST_F(ShowCommand, TerminalGivesWidthAndColors) {
  const std::string folder = logs(sample());
  const std::string colored = onTerminal({"show", folder}, 60, nullptr);
  if (colored == "no terminal") GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_THAT(colored, HasSubstr("\x1b[1;34mF0"));
  const std::string plain = onTerminal({"show", folder}, 60, "1");
  EXPECT_THAT(plain, AllOf(Not(HasSubstr("\x1b")), HasSubstr("rank 0 F0")));
  std::istringstream lines(plain);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("rank ")) continue;
    EXPECT_LE(line.size(), 61U);  // with its carriage return
  }
  EXPECT_THAT(
      onTerminal({"plan", "--schedule", "1F1B", "--ranks", "4", "--micro-batches", "8"}, 60, "1"),
      HasSubstr("rank 0 F"));
}

}  // namespace
}  // namespace pipetrace
