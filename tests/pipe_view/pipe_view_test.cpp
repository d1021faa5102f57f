#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "chart/colors/theme.h"
#include "chart/testing/logs.h"
#include "chart/testing/timelines.h"
#include "tests/testing/program_run.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class PipeViewTest : public testing::Test {
 protected:
  PipeViewTest() {
    // A machine without a display has none of these.
    for (const char* variable : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
      unsetenv(variable);
    }
    std::string name = (fs::temp_directory_path() / "pipe-view-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    fs::create_directories(folder_ / "logs");
    fs::create_directories(folder_ / "out");
    writeTestLogs(makeTestTimeline({.steps = 5}), logs());
  }
  ~PipeViewTest() override { fs::remove_all(folder_); }

  std::string logs() const { return (folder_ / "logs").string(); }
  std::string out(const std::string& name) const { return (folder_ / "out" / name).string(); }

  static ProgramRun run(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.insert(arguments.begin(), test::inBuild("bin/pipe-view"));
    return runProgram(arguments, setting);
  }

  std::vector<std::string> written() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

 private:
  fs::path folder_;
};

/// Four bytes of a PNG's header as a number, most significant first.
int pngNumber(const std::string& png, std::size_t at) {
  int value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value * 256 + static_cast<unsigned char>(png[at + i]);
  return value;
}

TEST_F(PipeViewTest, ExportsAPngWithoutADisplay) {
  const ProgramRun result = run({logs(), "--export", out("a.png"), "--size", "1000x600"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.out, "wrote " + out("a.png") + "\n");
  const std::string png = test::fileText(out("a.png"));
  EXPECT_THAT(png, StartsWith("\x89PNG\r\n"));
  EXPECT_EQ(pngNumber(png, 16), 1000);
  EXPECT_EQ(pngNumber(png, 20), 600);
}

TEST_F(PipeViewTest, ExportsAnSvgThatSaysWhichStepsItShows) {
  ASSERT_EQ(run({logs(), "--export", out("a.svg")}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("a.svg")),
              AllOf(StartsWith("<?xml"), HasSubstr("1F1B, 4 ranks, 8 micro-batches, bubble ratio"),
                    HasSubstr("steps 1 to 2 of 0 to 4"), HasSubstr("rank 3")));
  ASSERT_EQ(run({logs(), "--export", out("b.svg"), "--step", "3"}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("b.svg")), HasSubstr("step 3 of 0 to 4"));
  ASSERT_EQ(run({logs(), "--export", out("c.svg"), "--steps", "1:4"}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("c.svg")), HasSubstr("steps 1 to 3 of 0 to 4"));
  ASSERT_EQ(run({logs(), "--export", out("d.svg"), "--all"}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("d.svg")), HasSubstr("steps 0 to 4,"));
}

TEST_F(PipeViewTest, ExportsAPdfIntoAPathWithBlanks) {
  const ProgramRun result =
      run({logs(), "--export", out("my run.pdf"), "--step", "2", "--size", "800x400"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.out, "wrote " + out("my run.pdf") + "\n");
  EXPECT_THAT(test::fileText(out("my run.pdf")),
              AllOf(StartsWith("%PDF-"), HasSubstr("/MediaBox [0 0 600"), HasSubstr("/FontFile")));
  if (!fs::exists("/usr/bin/pdftotext")) GTEST_SKIP() << "no pdftotext (poppler-utils)";
  const ProgramRun text = runProgram({"/usr/bin/pdftotext", "-raw", out("my run.pdf"), "-"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("1F1B, 4 ranks, 8 micro-batches"), HasSubstr("rank 3"),
                              HasSubstr("step 2 of 0 to 4"), HasSubstr("backward")));
}

TEST_F(PipeViewTest, TheScaleMultipliesThePixelsOfAPng) {
  ASSERT_EQ(run({logs(), "--export", out("a.png"), "--size", "500x300", "--scale", "1.5"}).exitCode,
            0);
  const std::string png = test::fileText(out("a.png"));
  EXPECT_EQ(pngNumber(png, 16), 750);
  EXPECT_EQ(pngNumber(png, 20), 450);
}

TEST_F(PipeViewTest, ClassesOfBubblesCanBeLeftOut) {
  ASSERT_EQ(run({logs(), "--export", out("a.svg"), "--step", "2", "--classes"}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("a.svg")), HasSubstr(">drain<"));
  ASSERT_EQ(run({logs(), "--export", out("a.svg"), "--step", "2", "--no-classes"}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("a.svg")), testing::Not(HasSubstr(">drain<")));
}

TEST_F(PipeViewTest, ALongRunIsDrawnAStepAColumn) {
  const std::string folder = out("long");
  fs::create_directories(folder);
  writeTestLogs(makeTestTimeline({.steps = 90}), folder);
  ASSERT_EQ(run({folder, "--export", out("a.svg"), "--all"}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("a.svg")),
              AllOf(HasSubstr("steps 0 to 89"), HasSubstr("a column is a step")));
  ASSERT_EQ(run({folder, "--export", out("a.svg"), "--all", "--size", "20000x800"}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("a.svg")), testing::Not(HasSubstr("a column is a step")))
      << "wide enough for jobs";
}

TEST_F(PipeViewTest, TheSampleIsExportedWithoutAnInput) {
  const ProgramRun result = run({"--sample", "--export", out("a.svg"), "--step", "3"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(test::fileText(out("a.svg")),
              AllOf(HasSubstr("step 3 of 0 to 5"), HasSubstr("late start 40 ms")));
}

TEST_F(PipeViewTest, AFolderThatMayNotBeWrittenIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(out(""), fs::perms::owner_read | fs::perms::owner_exec);
  const ProgramRun result = run({logs(), "--export", out("a.pdf")});
  fs::permissions(out(""), fs::perms::owner_all);
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("a.pdf"), HasSubstr("choose a folder that you may write to")));
}

TEST_F(PipeViewTest, ExportsInAThemeAndItsDarkForm) {
  ASSERT_EQ(run({logs(), "--export", out("a.svg"), "--theme", "paddle", "--dark"}).exitCode, 0);
  const std::string svg = test::fileText(out("a.svg"));
  const std::string forward = toHex({126, 200, 148});  // Catapult's thread_state_running
  EXPECT_THAT(svg, HasSubstr("fill=\"" + forward + '"'));
  EXPECT_THAT(svg, HasSubstr("fill=\"" + toHex(themeOf(ThemeName::kPaddle, true).paper) + '"'));
  ASSERT_EQ(run({logs(), "--export", out("a.svg")}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("a.svg")), testing::Not(HasSubstr(forward)));
  const ProgramRun wrong = run({logs(), "--export", out("a.svg"), "--theme", "pink"});
  EXPECT_EQ(wrong.exitCode, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("--theme"), HasSubstr("colour-blind")));
}

TEST_F(PipeViewTest, StepsAreHalfOpenAndMayBeOpenOrOne) {
  const std::pair<const char*, const char*> cases[] = {{"1", "step 1 of 0 to 4"},
                                                       {"1:2", "step 1 of 0 to 4"},
                                                       {"2:4", "steps 2 to 3 of 0 to 4"},
                                                       {":2", "steps 0 to 1 of 0 to 4"},
                                                       {"3:", "steps 3 to 4 of 0 to 4"}};
  for (const auto& [steps, caption] : cases) {
    ASSERT_EQ(run({logs(), "--export", out("a.svg"), "--steps", steps}).exitCode, 0) << steps;
    EXPECT_THAT(test::fileText(out("a.svg")), HasSubstr(caption)) << steps;
  }
  EXPECT_THAT(run({logs(), "--export", out("a.svg"), "--steps", "9:"}).err,
              HasSubstr("has no steps 9 and up; it holds steps 0 to 4"));
}

TEST_F(PipeViewTest, WithoutADisplayThereIsAMessageInsteadOfAnAbort) {
  const ProgramRun result = run({logs()});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no display"), HasSubstr("--export")));
}

TEST_F(PipeViewTest, ADisplayThatCannotBeReachedIsAMessageInsteadOfAnAbort) {
  setenv("DISPLAY", ":94731", 1);
  const ProgramRun result = run({logs()});
  unsetenv("DISPLAY");
  EXPECT_EQ(result.exitCode, 2) << "signal " << result.signal;
  EXPECT_THAT(result.err, HasSubstr("no display"));
}

TEST_F(PipeViewTest, AnEndingThatIsNotSupportedNamesThoseThatAre) {
  const ProgramRun result = run({logs(), "--export", out("a.gif")});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("a.gif"), HasSubstr(".png"), HasSubstr(".svg")));
  EXPECT_THAT(written(), IsEmpty());
}

TEST_F(PipeViewTest, AnInputThatCannotBeReadExportsNothing) {
  const ProgramRun missing = run({out("missing.json"), "--export", out("a.png")});
  EXPECT_EQ(missing.exitCode, 2);
  EXPECT_THAT(missing.err, HasSubstr("missing.json"));
  std::ofstream(logs() + "/../other.log") << "hello\nworld\n";
  EXPECT_EQ(run({logs() + "/../other.log", "--export", out("a.png")}).exitCode, 2);
  EXPECT_THAT(written(), IsEmpty());
}

TEST_F(PipeViewTest, AStepThatTheRunDoesNotHaveIsAnError) {
  const ProgramRun result = run({logs(), "--export", out("a.png"), "--step", "17"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no step 17"), HasSubstr("steps 0 to 4")));
}

TEST_F(PipeViewTest, AFoundJobIsExportedWithItsStep) {
  ASSERT_EQ(run({logs(), "--export", out("a.svg"), "--find", "step:3 rank:2 mb:1"}).exitCode, 0);
  EXPECT_THAT(test::fileText(out("a.svg")), HasSubstr("step 3 of 0 to 4"));
  const ProgramRun none = run({logs(), "--export", out("b.svg"), "--find", "rank:77"});
  EXPECT_EQ(none.exitCode, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("matches 'rank:77'"), HasSubstr("logs")));
  const ProgramRun bad = run({logs(), "--export", out("b.svg"), "--find", "rnk:7"});
  EXPECT_EQ(bad.exitCode, 2);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("'rnk:7'"), HasSubstr("rank")));
  EXPECT_THAT(written(), testing::ElementsAre("a.svg"));
}

TEST_F(PipeViewTest, AFullDiskLeavesNothingBehind) {
  ProgramSetting setting;
  setting.inChild = [] {
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const ProgramRun result = run({logs(), "--export", out("a.png")}, setting);
  EXPECT_EQ(result.exitCode, 2) << "signal " << result.signal;
  EXPECT_THAT(result.err, HasSubstr("a.png"));
  EXPECT_THAT(written(), IsEmpty());
  EXPECT_EQ(run({logs(), "--export", out("no/such/a.png")}).exitCode, 2);
}

TEST_F(PipeViewTest, APictureThatWouldReplaceAnInputIsRefused) {
  const std::string log = logs() + "/workerlog.1";
  const std::string before = test::fileText(log);
  fs::create_symlink(log, out("soft.png"));
  fs::create_hard_link(log, out("hard.svg"));
  for (const std::string& input : {logs(), log}) {
    for (const char* name : {"soft.png", "hard.svg"}) {
      const ProgramRun result = run({input, "--export", out(name)});
      EXPECT_EQ(result.exitCode, 2) << name;
      EXPECT_THAT(result.err, AllOf(HasSubstr(out(name)), HasSubstr("choose another name")));
      EXPECT_EQ(test::fileText(log), before);
    }
  }
}

TEST_F(PipeViewTest, WhereStandardOutputIsFullTheOldPictureStays) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  std::ofstream(out("a.svg")) << "old";
  const ProgramRun result = run({logs(), "--export", out("a.svg")}, {.outFile = "/dev/full"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("cannot write standard output"));
  EXPECT_EQ(test::fileText(out("a.svg")), "old");
  EXPECT_EQ(written().size(), 1U);
}

TEST_F(PipeViewTest, AnOutputAsOtherProgramsCallItSuggestsTheExport) {
  for (const char* option : {"-o", "--output", "--out"}) {
    const ProgramRun result = run({logs(), option, out("a.svg")});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err, HasSubstr("did you mean --export?")) << option;
  }
  EXPECT_THAT(run({logs(), "--export", out("a.svg"), "--step", "1:3"}).err,
              HasSubstr("write --steps 1:3"));
}

TEST_F(PipeViewTest, ACutOffLogIsExportedWithANote) {
  fs::resize_file(logs() + "/workerlog.1", fs::file_size(logs() + "/workerlog.1") - 300);
  const ProgramRun result = run({logs(), "--export", out("a.png")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, HasSubstr("workerlog.1"));
}

TEST_F(PipeViewTest, ANoteOnManyFilesIsOneLine) {
  for (int rank = 0; rank < 4; ++rank) {
    std::ofstream(logs() + "/workerlog." + std::to_string(rank), std::ios::app)
        << "Profiler Info: {";
  }
  const ProgramRun result = run({logs(), "--export", out("a.png")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("workerlog.* (ranks 0 to 3)"));
}

TEST_F(PipeViewTest, InputsOfSeveralRunsAreListedWithTheCommandThatShowsEach) {
  const std::string later = out("later");
  fs::create_directories(later);
  Timeline timeline = makeTestTimeline({.steps = 5});
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      event.begin += 3600 * kNsPerSecond;
      event.end += 3600 * kNsPerSecond;
    }
  }
  writeTestLogs(timeline, later);
  const ProgramRun result = run({logs(), later, "--export", out("a.png")});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the inputs hold 2 runs"),
                                HasSubstr("    pipe-view " + logs() + "\n"),
                                HasSubstr("    pipe-view " + later + "\n")));
}

TEST_F(PipeViewTest, OptionsThatMakeNoSenseAreRefused) {
  using Arguments = std::vector<std::string>;
  const std::string png = out("a.png");
  for (const Arguments& arguments :
       {Arguments{logs(), "--step", "1"}, Arguments{"--export", png},
        Arguments{logs(), "--export", png, "--size", "1600"},
        Arguments{logs(), "--export", png, "--size", "0x10"},
        Arguments{logs(), "--export", png, "--size", "1e3x10"},
        Arguments{logs(), "--export", png, "--steps", "3:1"},
        Arguments{logs(), "--export", png, "--steps", "3:3"},
        Arguments{logs(), "--export", png, "--steps", "1", "--step", "1"},
        Arguments{logs(), "--align", "clock"}, Arguments{"completions", "tcsh"},
        Arguments{"help", "nothing"}, Arguments{logs(), "--export", png, "--step", "1", "--all"},
        Arguments{logs(), "--export", png, "--scale", "0"}, Arguments{logs(), "--scale", "2"},
        Arguments{logs(), "--no-classes"}, Arguments{logs(), "--sample"},
        Arguments{logs(), "--export", png, "--step", "-1"}, Arguments{logs(), "--frobnicate"}}) {
    const ProgramRun result = run(arguments);
    EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(arguments);
    EXPECT_THAT(result.err, StartsWith("pipe-view"));
  }
  EXPECT_THAT(written(), IsEmpty());
}

TEST_F(PipeViewTest, HelpAndVersionGoToStandardOutput) {
  const ProgramRun help = run({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--export"), HasSubstr("--steps"), HasSubstr("--size"),
                              HasSubstr("--all"), HasSubstr("Exit codes")));
  EXPECT_EQ(run({"help"}).out, help.out);
  EXPECT_EQ(run({"-V"}).out, run({"--version"}).out);
  const ProgramRun version = run({"--version"});
  EXPECT_EQ(version.exitCode, 0);
  EXPECT_THAT(version.out, StartsWith("pipe-view "));
}

TEST_F(PipeViewTest, CompletionsAndManualPageHaveEveryOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const ProgramRun script = run({"completions", shell});
    EXPECT_EQ(script.exitCode, 0) << script.err;
    for (const char* option : {"export", "size", "step", "steps", "all", "align"}) {
      EXPECT_THAT(script.out, HasSubstr(option)) << shell;
    }
  }
  const ProgramRun page = run({"man"});
  EXPECT_EQ(page.exitCode, 0) << page.err;
  EXPECT_THAT(page.out, AllOf(HasSubstr("\n[\\fIINPUT\\fR...]\n"), HasSubstr("\\fB\\-\\-align\\fR"),
                              HasSubstr("\n.SH EXIT STATUS\n"), HasSubstr("\n.SH EXAMPLES\n")));
  if (!fs::exists("/usr/bin/groff")) GTEST_SKIP() << "no groff on this system";
  std::ofstream(out("page.1")) << page.out;
  const ProgramRun checked =
      runProgram({"/usr/bin/groff", "-man", "-ww", "-z", "-Kutf8", "-Tutf8", out("page.1")});
  EXPECT_EQ(checked.exitCode, 0);
  EXPECT_THAT(checked.err, IsEmpty());
}

}  // namespace
}  // namespace pipetrace
