// The command line of pipe-run: its errors, help, completions and manual page.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "profiler/testing/recorded_log.h"
#include "tests/pipe_run/run_pipe_run.h"
#include "tests/testing/shell_offers.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

TEST(PipeRunCommandLine, WrongCommandLinesAreReportedAndExitWithTwo) {
  RecordedLog log;
  const std::string out = log.folder() + "/out";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "no program to run; give it after --"},
      {{"--"}, "no program to run; give it after --"},
      {{"--ranks", "0", "--", "true"}, "--ranks"},
      {{"--ranks", "many", "--", "true"}, "--ranks"},
      {{"--log-dir", out, "--", "/no/such/program"}, "cannot run /no/such/program"},
      {{"--ranks", "2", "--log-dir=a b", "./train", "--steps", "2"},
       "pipe-run: the program comes after --: pipe-run --ranks 2 '--log-dir=a b' -- ./train "
       "--steps "
       "2\n"},
      {{"--rank", "2", "./train"}, "pipe-run: "},
      {{"--log-dir", "", "--", "true"}, "pipe-run: --log-dir: the folder's name is empty"},
      {{"rehearse", "--log-dir", ""}, "pipe-run rehearse: --log-dir: the folder's name is empty"},
      {{"rehearse"}, "--log-dir is required"},
      {{"rehers", "--schedule", "1F1B"}, "no command rehers; did you mean pipe-run rehearse?"},
      {{"rehers", "--", "true"}, "did you mean pipe-run rehearse? A program comes after --"},
      {{"rehearse", "--log-dir", out, "1F1B"}, "1F1B; did you mean --schedule 1F1B?"},
      {{"rehearse", "--log-dir", out}, "no schedule to rehearse"},
      {{"rehearse", "--log-dir", out, "--schedule", "1F1B"},
       "--schedule 1F1B needs --ranks P and --micro-batches M; both are missing"},
      {{"rehearse", "--log-dir", out, "--schedule", "1F1B", "--rank", "2"},
       "--rank 2; did you mean --ranks?"},
      {{"rehearse", "--log-dir", out, "--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2",
        "--forward-ms", "1,2,3", "--backward-ms", "1"},
       "costs for 3 stages (forward), but the schedule has 2"},
      {{"--log-dir", out, "rehearse"}, "the command comes first: pipe-run rehearse ..."},
      {{"help", "rehears"}, "did you mean rehearse?"},
      {{"rehearse", "--log-dir", out, "--schedule", "2F2B", "--ranks", "2", "--micro-batches", "2"},
       "2F2B"},
      {{"rehearse", "--log-dir", out, "--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2"},
       "how long do jobs take?"},
      {{"rehearse", "--log-dir", out, "--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2",
        "--forward-ms", "ten", "--backward-ms", "1"},
       "--forward-ms ten"},
      {{"rehearse", "--log-dir", out, "--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2",
        "--forward-ms", "-1", "--backward-ms", "1"},
       "--forward-ms -1"},
      {{"rehearse", "--log-dir", out, "--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2",
        "--costs-from", "/no/such/logs"},
       "/no/such/logs"},
      {{"rehearse", "--log-dir", out, "--schedule-file", "/no/such.csv"}, "/no/such.csv"},
      {{"rehearse", "--log-dir", out, "--comm-streams", "lane"},
       "pipe-run rehearse: --comm-streams lane: it is message, edge, peer, direction or rank"},
  };
  for (const auto& [arguments, message] : cases) {
    const ProgramRun run = pipeRun(arguments);
    EXPECT_EQ(run.exitCode, 2) << message;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
}

TEST(PipeRunCommandLine, HelpAndVersionArePrinted) {
  EXPECT_THAT(pipeRun({"--version"}).out, StartsWith("pipe-run "));
  EXPECT_EQ(pipeRun({"-V"}).out, pipeRun({"--version"}).out);
  EXPECT_EQ(pipeRun({"help"}).out, pipeRun({"--help"}).out);
  EXPECT_EQ(pipeRun({"help", "rehearse"}).out, pipeRun({"rehearse", "--help"}).out);
  const ProgramRun help = pipeRun({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.out,
              AllOf(HasSubstr("Usage: pipe-run [OPTIONS] -- PROGRAM [ARGUMENT]...\n"),
                    HasSubstr("--master-port"), HasSubstr("rehearse"), HasSubstr("Exit codes")));
  EXPECT_THAT(pipeRun({"rehearse", "--help"}).out,
              AllOf(HasSubstr("--costs-from"), HasSubstr("Examples:\n  pipe-run rehearse"),
                    Not(HasSubstr("MASTER_ADDR"))));
}

TEST(PipeRunCommandLine, CompletionsAndManualPageHaveTheOptionsOfBothUses) {
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    const ProgramRun script = pipeRun({"completions", shell});
    EXPECT_EQ(script.exitCode, 0) << script.err;
    EXPECT_THAT(script.out, AllOf(HasSubstr("pipe-run"), HasSubstr("master-port"),
                                  HasSubstr("rehearse"), HasSubstr("forward-ms")));
    EXPECT_THAT(script.out, Not(testing::ContainsRegex("(--|-l )stages")));
  }
  const ProgramRun page = pipeRun({"man"});
  EXPECT_EQ(page.exitCode, 0) << page.err;
  EXPECT_THAT(
      page.out,
      AllOf(HasSubstr(".SH PIPE\\-RUN REHEARSE\n"), HasSubstr("\\-\\-master\\-port"),
            HasSubstr("\n\\fI\\-\\- PROGRAM [ARGUMENT]\\fR...\n"), HasSubstr("\n.SH EXIT STATUS\n"),
            HasSubstr("\\fB128 + n\\fR\nstopped by"), HasSubstr("\n.SH EXAMPLES\n")));
  if (!std::filesystem::exists("/usr/bin/groff")) GTEST_SKIP() << "no groff on this system";
  const RecordedLog folder;
  const std::string file = folder.folder() + "/page.1";
  std::ofstream(file) << page.out;
  const ProgramRun checked =
      runProgram({"/usr/bin/groff", "-man", "-ww", "-z", "-Kutf8", "-Tutf8", file});
  EXPECT_EQ(checked.exitCode, 0);
  EXPECT_EQ(checked.err, "");
}

/// A folder with plan.csv and an executable ./plain.
class PipeRunOffers : public testing::Test {
 protected:
  PipeRunOffers() {
    std::ofstream(log_.folder() + "/plan.csv") << "";
    std::ofstream(log_.folder() + "/plain") << "#!/bin/sh\n";
    std::filesystem::permissions(log_.folder() + "/plain", std::filesystem::perms::owner_all);
  }

  RecordedLog log_;
  ShellOffers shells_{test::inBuild("bin/pipe-run"), log_.folder()};
};

TEST_F(PipeRunOffers, BashCompletesAProgramAndItsFilesAfterDashes) {
  EXPECT_THAT(shells_.bash({"pipe-run", "--", "bas"}), Contains("bash"));
  EXPECT_THAT(shells_.bash({"pipe-run", "--", "./pl"}), ElementsAre("./plain"));
  EXPECT_THAT(shells_.bash({"pipe-run", "--ranks", "2", "--", "bash", "plan"}),
              ElementsAre("plan.csv"));
  EXPECT_THAT(shells_.bash({"pipe-run", "--", "bash", "--ran"}), ElementsAre(""));
  EXPECT_THAT(shells_.bash({"pipe-run", "--", "rehearse", "--ran"}), ElementsAre(""));
  EXPECT_THAT(shells_.bash({"pipe-run", "--ran"}),
              UnorderedElementsAre("--ranks", "--rank-of-launcher"));
  EXPECT_THAT(shells_.bash({"pipe-run", "plan"}), ElementsAre("")) << "no file is taken here";
  EXPECT_THAT(shells_.bash({"pipe-run", "rehearse", "plan"}), ElementsAre(""));
  EXPECT_THAT(shells_.bash({"pipe-run", "--log-dir", "plan"}), ElementsAre("plan.csv"));
}

TEST_F(PipeRunOffers, FishCompletesAProgramAndItsFilesAfterDashes) {
  if (!ShellOffers::hasFish()) GTEST_SKIP() << "no fish on this system";
  EXPECT_THAT(shells_.fish("pipe-run -- ./pl"), ElementsAre("./plain"));
  EXPECT_THAT(shells_.fish("pipe-run -- bas"), Contains("bash"));
  EXPECT_THAT(shells_.fish("pipe-run --ranks 2 -- bash plan"), ElementsAre("plan.csv"));
  EXPECT_THAT(shells_.fish("pipe-run -- bash --ran"), IsEmpty());
  EXPECT_THAT(shells_.fish("pipe-run -- rehearse --ran"), IsEmpty());
  EXPECT_THAT(shells_.fish("pipe-run --ran"),
              UnorderedElementsAre("--ranks", "--rank-of-launcher"));
  EXPECT_THAT(shells_.fish("pipe-run plan"), IsEmpty());
  EXPECT_THAT(shells_.fish("pipe-run rehearse plan"), IsEmpty());
  EXPECT_THAT(shells_.fish("pipe-run --log-dir plan"), ElementsAre("plan.csv"));
}

TEST_F(PipeRunOffers, ZshCompletesAProgramAndItsFilesAfterDashes) {
  if (!ShellOffers::hasZsh()) GTEST_SKIP() << "no zsh on this system, or no pseudo terminal";
  EXPECT_THAT(shells_.zsh("pipe-run -- bas"), Contains("bash"));
  EXPECT_THAT(shells_.zsh("pipe-run -- ./pl"), Contains("plain"));
  EXPECT_THAT(shells_.zsh("pipe-run --ranks 2 -- bash plan"), ElementsAre("plan.csv"));
  EXPECT_THAT(shells_.zsh("pipe-run -- bash --ran"), Not(Contains("--ranks")));
  EXPECT_THAT(shells_.zsh("pipe-run -- rehearse --ran"), Not(Contains("--ranks")));
  EXPECT_THAT(shells_.zsh("pipe-run --ran"), UnorderedElementsAre("--ranks", "--rank-of-launcher"));
  EXPECT_THAT(shells_.zsh("pipe-run --ranks 2 plan"), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
