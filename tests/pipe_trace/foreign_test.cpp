#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PipeTraceForeign : public PipeTrace {
 protected:
  void SetUp() override {
    write("train_rank2.log",
          "epoch 1\nran fwd batch 0 from 1697793307.213760986 to 1697793307.254006104\n"
          "ran backward batch 0 from 1697793307.3 to 1697793307.4\n");
    write("kinds.json", R"({"kinds": {"fwd": "forward"}})");
  }

  /// The options that read that log, without --kinds.
  std::vector<std::string> with(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(),
                     {path("train_rank2.log"), "--time-unit", "s", "--pattern", kPattern});
    return arguments;
  }

  static constexpr const char* kPattern =
      R"(ran (?P<type>\w+) batch (?P<micro_batch_id>\d+) from (?P<start>\S+) to (?P<end>\S+))";
};

TEST_F(PipeTraceForeign, APatternMakesAnyLogReadableToTheNanosecond) {
  const ProgramRun result = run(with({"-o", path("a.csv"), "--kinds", path("kinds.json")}));
  ASSERT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("train_rank2.log: note: 2 of its 3 lines match --pattern"));
  EXPECT_THAT(contents(path("a.csv")),
              AllOf(HasSubstr("2,compute,forward,forward 0,1697793307213760986,"
                              "1697793307254006104,40245118,0,0,"),
                    HasSubstr("2,compute,backward,backward 0,1697793307300000000,")));
}

TEST_F(PipeTraceForeign, EveryCommandThatReadsARunTakesThem) {
  for (const char* command : {"info", "show"}) {
    const ProgramRun result = run([&] {
      auto arguments = with({"--kinds", path("kinds.json")});
      arguments.insert(arguments.begin(), command);
      return arguments;
    }());
    EXPECT_EQ(result.exitCode, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("2 of its 3 lines match --pattern")) << command;
  }
}

TEST_F(PipeTraceForeign, FoldersAndStandardInputAreReadByThePatternToo) {
  const std::string text = contents(path("train_rank2.log"));
  const ProgramRun piped =
      run({"info", "-", "--time-unit", "s", "--pattern", kPattern}, {.input = text});
  EXPECT_THAT(piped.err, HasSubstr("standard input: note: 2 of its 3 lines match"));
  std::filesystem::create_directories(path("runs/b"));
  std::filesystem::rename(path("train_rank2.log"), path("runs/b/train_rank2.log"));
  write("runs/notes.json", "no trace");
  const ProgramRun found =
      run({"info", path("runs"), "--strict", "--time-unit", "s", "--pattern", kPattern});
  EXPECT_EQ(found.exitCode, 0) << found.err;
  EXPECT_THAT(found.err, HasSubstr("train_rank2.log: note: 2 of its 3 lines match"));
}

TEST_F(PipeTraceForeign, WithoutAPatternTheAdviceNamesIt) {
  expectError(run({path("train_rank2.log")}), "none with \"Profiler Info:\"", "--pattern");
  std::filesystem::create_directories(path("runs"));
  std::filesystem::rename(path("train_rank2.log"), path("runs/train_rank2.log"));
  expectError(run({path("runs")}), "no job log in the folder", "--pattern");
}

TEST_F(PipeTraceForeign, OptionsThatMakeNoSenseAreErrorsWithAdvice) {
  const std::string log = path("train_rank2.log");
  expectError(run({log, "--pattern", "a("}), "no regular expression: missing )", "RE2");
  expectError(run({log, "--pattern", "(?P<type>a)"}), "no group called start", "as in --pattern");
  expectError(run({log, "--time-unit", "s"}), "--time-unit requires --pattern", "--help");
  expectError(run({log, "--time-unit", "h", "--pattern", kPattern}), "h not in {ns,us,ms,s}",
              "--help");
  expectError(run({log, "--pattern", "x" + std::string(kPattern)}),
              "none of its 3 lines matches --pattern", "try the pattern on one of the lines");
  write("kinds.json", "{\"kinds\": {\n\"fwd\": \"forwards\"}}");
  expectError(run(with({"--kinds", path("kinds.json")})),
              "kinds.json:2: \"forwards\", of \"fwd\", is no kind of job", "kinds are lr, forward");
  expectError(run(with({"--kinds", path("nowhere.json")})), "nowhere.json", "check the name");
}

}  // namespace
}  // namespace pipetrace
