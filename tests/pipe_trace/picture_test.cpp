// Pictures of runs: pipe-trace LOGS -o NAME.svg.
#include "chart/testing/xml_check.h"
#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

class PictureOfARun : public PipeTrace {
 protected:
  static std::vector<std::string> textsOf(const std::string& svg) {
    std::vector<std::string> texts;
    for (const XmlElement& element : parseXml(svg)) {
      if (element.name == "text") texts.push_back(element.text);
    }
    return texts;
  }

  /// The first line of `show` with the same options, and what the axis counts from.
  static std::string captionOf(const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"show"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const std::string text = run(arguments).out;
    return text.substr(0, text.find('\n')) + ", times from the start of the run";
  }
};

TEST_F(PictureOfARun, IsAChartOfTheLastCompleteStepThatShowDraws) {
  const std::string folder = logs(sample(3));
  const ProgramRun result = run({folder, "-o", path("run.svg")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("wrote " + path("run.svg") + ": step 2 of 0 to 2\n"));
  const auto texts = textsOf(contents(path("run.svg")));
  EXPECT_THAT(texts, IsSupersetOf({"1F1B, 4 ranks, 8 micro-batches", "rank 0", "rank 3", "step 2",
                                   "forward", "backward", "bubbles:", "warm up", "transfer"}));
  EXPECT_THAT(texts, Contains(captionOf({folder})));
  EXPECT_THAT(texts, Not(Contains("step 1")));
  const auto isLast = [](const std::string& text) {
    return text == "7" || text.ends_with("F7") || text.ends_with("B7");
  };
  EXPECT_EQ(std::count_if(texts.begin(), texts.end(), isLast), 2 * 4) << "two a rank";
}

TEST_F(PictureOfARun, HasTheThemeThatIsChosen) {
  const std::string folder = logs(sample(3));
  const std::string catapultsGreen = "fill=\"#7ec894\"";  // thread_state_running: 126, 200, 148
  EXPECT_EQ(run({folder, "-o", path("run.svg"), "--theme", "paddle"}).exitCode, 0);
  EXPECT_THAT(contents(path("run.svg")), HasSubstr(catapultsGreen));
  EXPECT_EQ(run({"plan", "--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2", "--theme",
                 "paddle", "--dark", "-o", path("plan.svg")})
                .exitCode,
            0);
  EXPECT_THAT(contents(path("plan.svg")), HasSubstr(catapultsGreen));
  EXPECT_NE(run({folder, "--theme", "paddle"}).exitCode, 0) << "there is no picture";
}

TEST_F(PictureOfARun, ShowsTheStepsAndRanksThatAreChosen) {
  const std::string folder = logs(sample(4));
  const ProgramRun result =
      run({folder, "--steps", "1:3", "--ranks", "2,3", "-o", path("run.svg")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  const auto texts = textsOf(contents(path("run.svg")));
  EXPECT_THAT(texts, IsSupersetOf({"step 1", "step 2", "rank 2", "rank 3"}));
  for (const char* other : {"step 3", "rank 0", "rank 1"}) {
    EXPECT_THAT(texts, Not(Contains(other)));
  }
  EXPECT_THAT(texts, Contains(captionOf({folder, "--steps", "1:3", "--ranks", "2,3"})));
}

TEST_F(PictureOfARun, ChangesNothingInTheProfileBesideIt) {
  const std::string folder = logs(sample(4));
  const std::vector<std::string> part = {folder, "-q", "--steps", "1:3", "--ranks", "2,3"};
  const auto with = [&](std::vector<std::string> outputs) {
    outputs.insert(outputs.begin(), part.begin(), part.end());
    EXPECT_EQ(run(outputs).exitCode, 0);
  };
  with({"-o", path("alone.json")});
  with({"-o", path("run.svg"), "-o", path("beside.json")});
  EXPECT_EQ(contents(path("beside.json")), contents(path("alone.json")));
}

TEST_F(PictureOfARun, GoesToStandardOutputWithFormat) {
  const std::string folder = logs(sample());
  run({folder, "-q", "-o", path("run.svg")});
  const ProgramRun piped = run({folder, "-o", "-", "--format", "svg"});
  EXPECT_THAT(piped.out, StartsWith("<?xml"));
  EXPECT_EQ(piped.out, contents(path("run.svg")));
}

TEST_F(PictureOfARun, WithoutAStepIsAnErrorAndNothingIsWritten) {
  write("other.json", R"({"traceEvents": [{"ph": "X", "name": "io", "ts": 1, "dur": 2, "pid": 1,)"
                      R"( "tid": 1}]})");
  expectError(run({path("other.json"), "-o", path("a.json"), "-o", path("a.svg")}),
              "no step to draw", "no compute job");
  EXPECT_THAT(names(), testing::ElementsAre("other.json"));
}

TEST_F(PictureOfARun, IsOfferedByHelpCompletionsAndTheManualPage) {
  EXPECT_THAT(run({"--help"}).out, AllOf(HasSubstr("NAME.svg"), HasSubstr("|svg")));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(run({"completions", shell}).out, HasSubstr("pftrace sqlite csv svg")) << shell;
  }
  EXPECT_THAT(run({"man"}).out, HasSubstr("NAME.svg"));
}

TEST_F(PictureOfARun, CannotBeOpenedInPerfettosUi) {
  write("a.svg", "<svg/>");
  expectError(run({"open", path("a.svg")}), path("a.svg"), "NAME.pftrace");
}

}  // namespace
}  // namespace pipetrace
