// The advice of pipe-trace when a command line is not what was meant.
#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(PipeTrace, UnexpectedArgumentsAreListedInOrderWithTheLikelyOption) {
  expectError(run({"plan", "--ranks", "4", "--microbatches", "8"}), "--microbatches 8",
              "did you mean --micro-batches?");
  expectError(run({logs(sample()), "--absolut-time"}), "--absolut-time", "mean --absolute-time?");
  expectError(run({"info", "x", "--stirct=1"}), "--stirct=1", "did you mean --strict?");
  EXPECT_THAT(run({"x", "--colour"}).err, Not(HasSubstr("did you mean")));
}

TEST_F(PipeTrace, TheBeginningOrAWordOfAnOptionSuggestsIt) {
  expectError(run({logs(sample()), "--out", "x.json"}), "--out", "did you mean --output?");
  expectError(run({"plan", "--microbatch", "3"}), "--microbatch 3", "mean --micro-batches?");
  expectError(run({"plan", "--num-micro-batches", "3"}), "", "mean --micro-batches?");
  expectError(run({"plan", "--forward", "3"}), "--forward 3", "did you mean --forward-ms?");
  expectError(run({"plan", "--out", "3"}), "--out 3", "did you mean --output?");
}

TEST_F(PipeTrace, AFormatAsAnOptionSuggestsAnOutput) {
  for (const char* command : {"plan", "x"}) {
    expectError(run({command, "--svg", "3"}), "--svg", "did you mean -o NAME.svg?");
    expectError(run({command, "--pftrace=3"}), "--pftrace", "did you mean -o NAME.pftrace?");
  }
  expectError(run({"x", "--csv"}), "--csv", "did you mean -o NAME.csv?");
}

TEST_F(PipeTrace, SeveralStepsAsOneSuggestTheOtherOption) {
  expectError(run({"show", logs(sample()), "--step", "1:3"}), "--step: 1:3 is no number",
              "write --steps 1:3");
}

TEST_F(PipeTrace, AScheduleAloneSuggestsItsOption) {
  for (const char* name : {"1F1B", "zb-h1"}) {
    expectError(run({"plan", name, "--ranks", "4", "--micro-batches", "8"}), name,
                "did you mean --schedule " + std::string(name) + "?");
  }
  EXPECT_THAT(run({"plan", "2F2B"}).err, Not(HasSubstr("did you mean")));
}

TEST_F(PipeTrace, MistypedAndMisplacedCommandsAreRecognized) {
  const std::string folder = logs(sample());
  expectError(run({"inof", folder}), "no command inof", "did you mean pipe-trace info?");
  expectError(run({"-q", "inof", folder}), "no command inof", "did you mean pipe-trace info?");
  expectError(run({"pln", "--schedule", "1F1B"}), "no command pln", "mean pipe-trace plan?");
  expectError(run({folder, "info"}), "no file info", "it comes first: pipe-trace info");
  expectError(run({path("inof")}), "cannot open", "check the name");
  expectError(run({"nothing-like-it"}), "cannot open", "check the name");
}

TEST_F(PipeTrace, CommandsThatOtherProgramsHaveAreExplained) {
  const std::string folder = logs(sample());
  expectError(run({"summary", folder}), "no command summary", "pipe-trace LOGS prints the summary");
  expectError(run({"summary", "-q"}), "no command summary", "pipe-trace LOGS prints the summary");
  expectError(run({"convert", folder}), "no command convert", "pipe-trace LOGS -o NAME.json");
  // A folder of that name is read.
  logs(sample(), "summary");
  const auto inFolder = [this] { EXPECT_EQ(::chdir(folder_.c_str()), 0); };
  EXPECT_EQ(run({"summary"}, {.inChild = inFolder}).exitCode, 0);
}

}  // namespace
}  // namespace pipetrace
