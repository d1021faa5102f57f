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

/// Two ranks of DeepSpeed's pipeline, by its timers: two micro-batches in one step.
constexpr const char* kDeepspeedTrace = R"j([
{"ph":"X","name":"batch_input","pid":0,"tid":1,"ts":0,"dur":2},
{"ph":"X","name":"fwd_microstep","pid":0,"tid":1,"ts":2,"dur":10},
{"ph":"X","name":"pipe_send_output","pid":0,"tid":2,"ts":12,"dur":1},
{"ph":"X","name":"pipe_recv_input","pid":1,"tid":2,"ts":0,"dur":13},
{"ph":"X","name":"fwd_microstep","pid":1,"tid":1,"ts":13,"dur":10},
{"ph":"X","name":"bwd_microstep","pid":1,"tid":1,"ts":23,"dur":20},
{"ph":"X","name":"pipe_send_grad","pid":1,"tid":2,"ts":43,"dur":1},
{"ph":"X","name":"pipe_recv_grad","pid":0,"tid":2,"ts":13,"dur":31},
{"ph":"X","name":"bwd_microstep","pid":0,"tid":1,"ts":44,"dur":20},
{"ph":"X","name":"step","pid":0,"tid":1,"ts":64,"dur":3}])j";

TEST_F(PipeTraceForeign, APresetTellsTheKindsOfAProgramsNames) {
  write("ds.json", kDeepspeedTrace);
  const ProgramRun result =
      run({path("ds.json"), "--kinds", "deepspeed", "-o", path("a.csv"), "--strict"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(
      contents(path("a.csv")),
      AllOf(HasSubstr("0,compute,data,"), HasSubstr("0,compute,forward,"),
            HasSubstr("0,compute,backward,"), HasSubstr("0,compute,optimizer,"),
            HasSubstr(",send_forward,"), HasSubstr(",recv_forward,"), HasSubstr(",send_backward,"),
            HasSubstr(",recv_backward,"), HasSubstr("1,compute,forward,")));
  ASSERT_EQ(run({path("ds.json"), "-o", path("b.csv")}).exitCode, 0);
  EXPECT_THAT(contents(path("b.csv")),
              AllOf(HasSubstr(",forward,"), testing::Not(HasSubstr(",optimizer,")),
                    testing::Not(HasSubstr(",data,"))))
      << "step and batch_input mean something else elsewhere";
}

TEST_F(PipeTraceForeign, APresetTakesNoImageOfAnAnnotationOnTheDeviceForAJob) {
  write("torch.json", R"j({"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [
{"ph":"X","cat":"user_annotation","name":"PP:0F0","pid":9,"tid":1,"ts":10,"dur":10},
{"ph":"X","cat":"gpu_user_annotation","name":"PP:0F0","pid":0,"tid":7,"ts":30,"dur":10}
],"baseTimeNanoseconds": 1700000000000000000})j");
  const ProgramRun result = run({path("torch.json"), "--kinds", "torch", "-o", path("a.csv")});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const std::string csv = contents(path("a.csv"));
  EXPECT_THAT(csv, HasSubstr("0,compute,forward,"));
  EXPECT_EQ(csv.find(",forward,"), csv.rfind(",forward,"));
}

TEST_F(PipeTraceForeign, SeveralPresetsAndFilesMayBeGivenInAList) {
  write("ds.json", kDeepspeedTrace);
  write("a,b.json", R"({"kinds": {"step": "lr"}})");
  write("k.json", R"({"kinds": {"step": "default"}})");
  const auto kindOfStep = [&](const std::vector<std::string>& kinds) {
    std::vector<std::string> arguments = {path("ds.json"), "-o", path("a.csv")};
    for (const std::string& word : kinds) arguments.insert(arguments.end(), {"--kinds", word});
    const ProgramRun result = run(arguments);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    const std::string csv = contents(path("a.csv"));
    for (const char* kind : {"optimizer", "lr", "default"}) {
      if (csv.find("," + std::string(kind) + ",") != std::string::npos) return std::string(kind);
    }
    return std::string("other");
  };
  EXPECT_EQ(kindOfStep({"torchtitan,deepspeed"}), "other");
  EXPECT_EQ(kindOfStep({"deepspeed", "torchtitan"}), "optimizer");
  EXPECT_EQ(kindOfStep({"deepspeed," + path("k.json")}), "default");
  EXPECT_EQ(kindOfStep({"deepspeed", path("a,b.json"), path("k.json")}), "lr");
}

TEST_F(PipeTraceForeign, AWordThatIsNoPresetAndNoFileIsAnErrorThatListsThePresets) {
  write("ds.json", kDeepspeedTrace);
  const char* const list = "presets are torch, megatron, deepspeed, torchtitan, paddle, nemo";
  expectError(run({path("ds.json"), "--kinds", "megatorn"}),
              "there is no preset and no file megatorn; " + std::string(list),
              "did you mean megatron?");
  expectError(run({path("ds.json"), "--kinds", "torch,deepsped"}), "no file deepsped; ",
              "did you mean deepspeed?");
  expectError(run({"show", path("ds.json"), "--kinds", "colossal"}), list, "check the name");
  expectError(run({path("ds.json"), "--kinds", "torch,"}), "no file \"\"; ", "check the name");
  EXPECT_THAT(run({"man"}).out, HasSubstr("torch, megatron, deepspeed, torchtitan, paddle, nemo"));
}

}  // namespace
}  // namespace pipetrace
