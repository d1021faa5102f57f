// --config FILE of the samples, without a launcher.
#include <gmock/gmock.h>

#include <fstream>

#include "runtime/testing/rank_processes.h"
#include "samples/testing/without_speeds.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProcessEnd;
using testing::runProcess;
using testing::ScratchFolder;
using ::testing::StartsWith;

const std::string kMlpByConfig = test::inBuild("bin/sample-gpipe-mlp");

class SampleConfigTest : public ::testing::Test {
 protected:
  ProcessEnd run(const std::string& text, const std::vector<std::string>& options = {},
                 const testing::ProcessOptions& setting = {}) {
    std::ofstream(path_) << text;
    std::vector<std::string> command{kMlpByConfig, "--config", path_};
    command.insert(command.end(), options.begin(), options.end());
    return runProcess(command, setting);
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.path("with a space.yml");
};

TEST_F(SampleConfigTest, AFileTrainsAsTheSameOptionsDo) {
  const ProcessEnd byFile =
      run("steps: 3\nschedule: 1F1B\nstages: 2\nlearning_rate: 0.05\nlr-schedule: cosine\n"
          "no_decay: ['^0', '^1']\nweight_decay: 0.1\nclip_grad_norm: 0.5\n");
  const ProcessEnd byOptions =
      runProcess({kMlpByConfig, "--steps", "3", "--schedule", "1F1B", "--stages", "2",
                  "--learning-rate", "0.05", "--lr-schedule", "cosine", "--no-decay", "^0",
                  "--no-decay", "^1", "--weight-decay", "0.1", "--clip-grad-norm", "0.5"});
  EXPECT_EQ(byFile.exitCode, 0) << byFile.output;
  EXPECT_THAT(byFile.output, HasSubstr("step 2 loss"));
  EXPECT_EQ(testing::withoutSpeeds(byFile.output), testing::withoutSpeeds(byOptions.output));
}

TEST_F(SampleConfigTest, TheCommandLineAndTheEnvironmentGoBeforeTheFile) {
  const ProcessEnd end =
      run("steps: 3\nschedule: 1F1B\nlog_dir: " + folder_.path("of the file") + "\n",
          {"--steps=1", "--stages", "2", "--dry-run"});
  EXPECT_THAT(end.output, HasSubstr("plan 1F1B: 2 ranks, 8 micro-batches a step, 1 step of 16"));
  const ProcessEnd recorded =
      run("steps: 1\nlog_dir: " + folder_.path("of the file") + "\n", {},
          {.environment = {{"PIPETRACE_LOG_DIR", folder_.path("of the environment")}}});
  EXPECT_EQ(recorded.exitCode, 0) << recorded.output;
  EXPECT_TRUE(std::ifstream(folder_.path("of the environment") + "/workerlog.0").good());
  EXPECT_FALSE(std::ifstream(folder_.path("of the file") + "/workerlog.0").good());
  const ProcessEnd ranks =
      run("stages: 3\nschedule: 1F1B\n", {"--stage-ranks", "0,1/2", "--dry-run"});
  EXPECT_THAT(ranks.output, HasSubstr("stage 0 on ranks 0, 1: "));
}

TEST_F(SampleConfigTest, EpochsHaveTheUsualStepsOrThoseOfTheFile) {
  EXPECT_THAT(run("epochs: 3\n", {"--dry-run"}).output, HasSubstr(", 600 steps of 16 rows"));
  EXPECT_THAT(run("epochs: 3\nnum_minibatches: 4\n", {"--dry-run"}).output,
              HasSubstr(", 12 steps of"));
  EXPECT_THAT(run("epochs: 3\nsteps: 5\n", {"--dry-run"}).output, HasSubstr(", 5 steps of"));
}

TEST_F(SampleConfigTest, FlagsAreTrueOrFalse) {
  const std::string rest = "steps: 1\nlog_dir: " + folder_.path("logs") + "\n";
  EXPECT_EQ(run(rest + "visualize_pipeline: true\n").exitCode, 0);
  EXPECT_EQ(run(rest + "no_send_recv_overlap: False\n").exitCode, 0);
  const ProcessEnd wrong = run(rest + "share_devices: 2\n");
  EXPECT_EQ(wrong.exitCode, 2);
  EXPECT_THAT(wrong.output,
              HasSubstr("error: " + path_ + ":3: share_devices: it is neither true nor false"));
}

TEST_F(SampleConfigTest, ResumeIsTrueOrAStep) {
  const std::string saved = "checkpoint: " + folder_.path("saved") + "\nsteps: 4\n";
  EXPECT_EQ(run(saved + "checkpoint_every: 1\nkeep: 3\n").exitCode, 0);
  EXPECT_THAT(run(saved + "resume: 2\n").output, HasSubstr("goes on from step 2 of "));
  EXPECT_THAT(run(saved + "resume: true\n", {"--steps", "6"}).output,
              HasSubstr("goes on from step 4 of "));
}

TEST_F(SampleConfigTest, CheckpointsOfTheDriversComeAfterEachEpoch) {
  const ProcessEnd end = run(
      "epochs: 3\nnum_minibatches: 2\ncheckpoint_dir: " + folder_.path("saved") + "\nkeep: 9\n");
  EXPECT_EQ(end.exitCode, 0) << end.output;
  for (const char* const step : {"step_2", "step_4", "step_6"}) {
    EXPECT_TRUE(std::ifstream(folder_.path("saved/" + std::string(step) + "/manifest.json")).good())
        << step;
  }
  EXPECT_FALSE(std::ifstream(folder_.path("saved/step_1/manifest.json")).good());
}

TEST_F(SampleConfigTest, ForwardOnlyEvaluates) {
  const ProcessEnd end = run("forward_only: True\nsteps: 2\nschedule: 1F1B\nstages: 2\n");
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(end.output, ::testing::ContainsRegex("loss 1\\.[0-9]+, the mean over 32 rows"));
  EXPECT_THAT(end.output, Not(HasSubstr("step 0")));
}

TEST_F(SampleConfigTest, MistakesHaveTheirPlaceAndTheNearestKey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"schedul: 1F1B", ":2: unknown key schedul; did you mean schedule?"},
      {"num-micro-batches: 3", ":2: unknown key num-micro-batches; did you mean micro_batches?"},
      {"verbose_freqency: 3", ":2: unknown key verbose_freqency; did you mean verbose_frequency?"},
      {"layers: 3", ":2: unknown key layers; "},
      {"config: x.yml", ":2: config is an option of the command line alone\n"},
      {"dry_run: true",
       ":2: dry_run is an option of the command line alone: pipe-run CONFIG.yml --dry-run\n"},
      {"help: true", ":2: help is an option of the command line alone"},
      {"ranks: 2", ":2: unknown key ranks, an option of Strategy; write stages, or machines with"},
      {"accumulate-steps: 2",
       ":2: unknown key accumulate-steps, an option of Strategy; write micro_batches"},
      {"seed: abc", ":2: seed: abc is no whole number\n"},
      {"buckets: 3.5", ":2: buckets: 3.5 is no whole number\n"},
      {"lr_final: x", ":2: lr_final: x is no number\n"},
      {"resume: ck",
       ":2: resume: ck is neither a step nor true; the folder is checkpoint_dir: ck, beside "
       "resume: true\n"},
      {"checkpoint: none\nresume: 40", ":3: resume: "},
      {"checkpoint: none\nresume: true", ":3: resume: there is no checkpoint in "},
      {"micro_batches: 17", ":2: micro_batches: a batch of 16 rows cannot be split into 17 micro"},
      {"no_decay: a(b", ":2: no_decay: a(b: missing )"},
      {"loss_scale: 8x\nprecision: fp16", ":2: loss_scale: 8x: give a number"},
      {"schedule: 1F1B\nstash_update: oldest", ":3: stash_update: oldest is for plans that"},
      {"schedule: PipeDream\nclip_grad_norm: 1", ":3: clip_grad_norm: the plan PipeDream changes"},
      {"auto_partition: /nope/a.json",
       ":2: auto_partition: cannot write the partition /nope/a.json: there is no folder /nope"},
      {"schedule: auto\nauto_partition: a.json",
       ":3: auto_partition: auto is made for the costs of its stages"},
      {"stages: [1, 2]", ":2: stages: one value is meant here"},
      {"stages: 0", ":2: stages: "},
      {"device: tpu", ":2: device: "},
      {"partition: {partition: [1, 1]}",
       ":2: partition: the partition adds up to 2 blocks, but "
       "the model has 4"}};
  for (const auto& [line, message] : cases) {
    const ProcessEnd end = run("steps: 1\n" + line + "\n", {"--dry-run"});
    EXPECT_EQ(end.exitCode, 2) << line;
    EXPECT_THAT(end.output, StartsWith("error: " + path_ + message)) << line;
  }
  EXPECT_EQ(run("resume: 40\n").output,
            "error: --resume requires --checkpoint; give checkpoint_dir in " + path_ + "\n");
}

TEST_F(SampleConfigTest, ADryRunRefusesTheFolderOfAnotherTraining) {
  const std::string saved = "checkpoint_dir: " + folder_.path("saved") + "\nsteps: 1\n";
  EXPECT_EQ(run(saved).exitCode, 0);
  const ProcessEnd again = run(saved, {"--dry-run"});
  EXPECT_EQ(again.exitCode, 2);
  EXPECT_THAT(again.output, StartsWith("error: " + path_ + ":1: checkpoint_dir: the folder " +
                                       folder_.path("saved") + " has a checkpoint of step 1"));
  EXPECT_EQ(run(saved, {"--dry-run", "--resume"}).exitCode, 0);
  EXPECT_THAT(run(saved, {"--dry-run", "--resume", "40"}).output,
              HasSubstr(" has no checkpoint of step 40"));
}

TEST_F(SampleConfigTest, APartitionThatWillBeMeasuredIsSaidToBeSo) {
  const ProcessEnd end =
      run("schedule: 1F1B\nstages: 2\nsteps: 1\nauto_partition: " + folder_.path("p.json") + "\n",
          {"--dry-run"});
  EXPECT_THAT(end.output,
              AllOf(HasSubstr(", 1 step of 16 rows\n"),
                    HasSubstr("note: this partition is the even one; --auto-partition")));
}

TEST_F(SampleConfigTest, UnknownOptionsOfTheCommandLineAreListedInOrderWithTheNearest) {
  const ProcessEnd end = runProcess({kMlpByConfig, "--lerning-rate", "0.1"});
  EXPECT_EQ(end.exitCode, 2);
  EXPECT_THAT(end.output, StartsWith("error: The following arguments were not expected: "
                                     "--lerning-rate 0.1; did you mean --learning-rate?\n"));
  EXPECT_THAT(runProcess({kMlpByConfig, "--version"}).output,
              ::testing::MatchesRegex("sample-gpipe-mlp [0-9.]+\n"));
}

TEST_F(SampleConfigTest, APartitionMayBeWrittenInTheFileOrOnTheCommandLine) {
  const ProcessEnd end = run(
      "partition: {partition: [1, 3], recompute_ratio: [0, 0.4]}\nschedule: 1F1B\n", {"--dry-run"});
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("stage 0 on rank 0: block 0\n"),
                    HasSubstr("stage 1 on rank 1: blocks 1 to 3, the last 1 recomputed")));
  EXPECT_THAT(end.output, HasSubstr("rank 1: 1F0,1R0,1B0"));
  const ProcessEnd given =
      runProcess({kMlpByConfig, "--stages", "2", "--partition", R"({"partition": [3, 1]})",
                  "--recompute-ratio", "1", "--dry-run"});
  EXPECT_THAT(given.output, HasSubstr("stage 0 on rank 0: blocks 0 to 2, recomputed"));
}

TEST_F(SampleConfigTest, KeysWithoutAnOptionAreNotedInADryRunAlone) {
  const std::string text = "steps: 1\nmodule: x\nbatch_size: 3\n";
  EXPECT_THAT(run(text, {"--dry-run"}).output,
              AllOf(HasSubstr("note: module has no effect: the program has no option --module"),
                    HasSubstr("note: batch_size has no effect")));
  EXPECT_THAT(run(text).output, Not(HasSubstr("note: ")));
}

}  // namespace
}  // namespace pipetrace
