// When what a command prints finds no room, the files that it would write stay as they are.
#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Runs commands whose standard output is a full device.
class FullOutput : public PlanCommand {
 protected:
  void SetUp() override {
    if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  }

  /// Expects an error that claims nothing about files.
  static void expectNoRoom(const std::vector<std::string>& arguments) {
    const ProgramRun result = run(arguments, {.outFile = "/dev/full"});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("cannot write standard output: No space left on device"),
                      Not(HasSubstr("left behind")), Not(HasSubstr("wrote"))));
  }

  static std::vector<std::string> planInto(const std::vector<std::string>& outputs) {
    std::vector<std::string> arguments = {"plan", "--schedule",      "1F1B", "--ranks",
                                          "2",    "--micro-batches", "2"};
    arguments.insert(arguments.end(), outputs.begin(), outputs.end());
    return arguments;
  }
};

TEST_F(FullOutput, APlanReplacesNoFile) {
  write("o.csv", "old");
  for (const char* result : {"--width=100", "--json", "--job-list"}) {
    expectNoRoom(planInto({"-o", path("o.csv"), "-o", path("new.svg"), result}));
    EXPECT_EQ(contents(path("o.csv")), "old") << result;
  }
  for (const char* option : {"--csv", "--costs-out"}) {
    expectNoRoom(planInto({"-o", path("o.csv"), option, "-"}));
    EXPECT_EQ(contents(path("o.csv")), "old") << option;
  }
  EXPECT_THAT(names(), ElementsAre("o.csv"));
}

TEST_F(FullOutput, APlanReplacesAndRemovesNoLog) {
  ASSERT_EQ(planOf("1F1B", {"-o", path("dd/")}).exitCode, 0);
  const std::string first = contents(path("dd/workerlog.0"));
  expectNoRoom(planInto({"-o", path("dd/"), "-o", path("new/"), "--csv", path("pl.csv")}));
  EXPECT_EQ(contents(path("dd/workerlog.0")), first);
  EXPECT_TRUE(fs::exists(path("dd/workerlog.3")));
  EXPECT_THAT(names(), ElementsAre("dd"));
}

TEST_F(FullOutput, AConversionReplacesNoProfile) {
  const std::string folder = logs(sample());
  write("o.json", "old");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--json"}, {"-o", "-"}}) {
    std::vector<std::string> arguments = {folder, "-o", path("o.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expectNoRoom(arguments);
    EXPECT_EQ(contents(path("o.json")), "old");
  }
  EXPECT_THAT(names(), ElementsAre("my logs", "o.json"));
}

TEST_F(FullOutput, PaddlePaddlesConverterReplacesNoProfile) {
  const std::string folder = logs(sample());
  const std::string profile = folder + "/pipeline_profile.json";
  const std::vector<std::string> arguments = {"--devices", "0-3", "--log_dir", folder};
  ASSERT_EQ(run(arguments).exitCode, 0);
  write("my logs/pipeline_profile.json", "old");
  expectNoRoom(arguments);
  EXPECT_EQ(contents(profile), "old");
}

TEST_F(FullOutput, TextThatIsNotPrintedNeedsNoRoom) {
  const std::string folder = logs(sample());
  EXPECT_EQ(run({folder, "-q", "-o", path("a.json")}, {.outFile = "/dev/full"}).exitCode, 0);
  EXPECT_TRUE(fs::exists(path("a.json")));
}

TEST_F(FullOutput, AClosedPipeHindersNoFile) {
  const std::string folder = logs(sample());
  const auto closePipe = [] {
    int ends[2];
    if (::pipe(ends) != 0) return;
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
  };
  EXPECT_EQ(run({folder, "-o", path("a.json")}, {.inChild = closePipe}).exitCode, 0);
  EXPECT_EQ(run(planInto({"-o", path("a.svg")}), {.inChild = closePipe}).exitCode, 0);
  EXPECT_THAT(names(), ElementsAre("a.json", "a.svg", "my logs"));
}

}  // namespace
}  // namespace pipetrace
