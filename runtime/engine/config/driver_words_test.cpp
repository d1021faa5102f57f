#include "runtime/engine/config/driver_words.h"

#include <gmock/gmock.h>

#include "runtime/engine/config/config_plan.h"
#include "runtime/engine/config/testing/written_config.h"
#include "schedule/partition/partition_file.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The value of an option that follows from the file; empty without it.
std::string valueOf(const RunConfig& config, const std::string& name) {
  const ConfigOption* const option = config.find(name);
  return option == nullptr ? "" : option->values.at(0);
}

std::string value(const std::string& text, const std::string& name) {
  return valueOf(WrittenConfig().read("machines: [a:0, a:1, a:2, a:3]\n" + text), name);
}

TEST(DriverWordsTest, TheBatchIsAMicroBatchUnderAspAndAStepUnderBsp) {
  EXPECT_EQ(value("sync_mode: asp\nbatch_size: 16\n", "micro_batches"), "8");
  EXPECT_EQ(value("sync_mode: asp\nbatch_size: 16\n", "batch"), "128");
  EXPECT_EQ(value("sync_mode: asp\nbatch_size: 16\nmicro_batches: 3\n", "batch"), "48");
  EXPECT_EQ(value("sync_mode: asp\nbatch_size: 16\nnum_minibatches: 5\n", "micro_batches"), "5");
  EXPECT_EQ(value("sync_mode: bsp\nbatch_size: 16\n", "micro_batches"), "4");
  EXPECT_EQ(value("sync_mode: bsp\nbatch_size: 16\n", "batch"), "16");
  EXPECT_EQ(value("sync_mode: bsp\nbatch_size: 16\nmicro_batches: 2\n", "micro_batches"), "2");
  EXPECT_EQ(value("sync_mode: bsp\nbatch_size: 16\nmicro_batches: 2\n", "batch"), "16");
}

TEST(DriverWordsTest, TheModeChoosesTheScheduleUnlessThereIsOne) {
  EXPECT_EQ(value("sync_mode: asp\n", "schedule"), "PipeDream");
  EXPECT_EQ(value("sync_mode: asp\nmacrobatch: true\n", "schedule"), "PipeDream-2BW");
  EXPECT_EQ(value("sync_mode: bsp\n", "schedule"), "1F1B");
  EXPECT_EQ(value("sync_mode: bsp\nschedule: GPipe\n", "schedule"), "GPipe");
  EXPECT_EQ(value("sync_mode: asp\n", "stash_update"), "") << "newest, as the engine has it";
  EXPECT_EQ(value("sync_mode: asp\nstash_update: oldest\n", "stash_update"), "oldest");
  const WrittenConfig folder;
  folder.write("plan.csv", "0F0,0B0\n");
  const RunConfig file = folder.read("sync_mode: bsp\nschedule_file: plan.csv\n");
  EXPECT_EQ(valueOf(file, "schedule"), "");
  EXPECT_EQ(valueOf(file, "schedule_file"), folder.path("plan.csv"));
  EXPECT_EQ(planOf(file)->numRanks(), 1);
}

TEST(DriverWordsTest, APartitionIsAMapAListOrTheTextOfOne) {
  for (const char* const text : {"{partition: [4, 5]}", "[4, 5]", "'{\"partition\": [4, 5]}'"}) {
    const WrittenConfig folder;
    const RunConfig config = folder.read("partition: " + std::string(text) + "\n");
    EXPECT_THAT(partitionOption(valueOf(config, "partition")).blocks, ElementsAre(4, 5)) << text;
    EXPECT_EQ(valueOf(config, "stages"), "2") << text;
  }
  EXPECT_THAT(
      WrittenConfig().errorOf("stages: 1\npartition: [4, x]\n"),
      HasSubstr(":2: partition: the partition: \"partition\" has \"x\", which is no number"));
}

TEST(DriverWordsTest, EpochsAreCountedInSteps) {
  const WrittenConfig folder;
  const std::string machines = "machines: [a:0, a:1]\n";
  RunConfig config = folder.read(machines + "sync_mode: bsp\nepochs: 3\nnum_minibatches: 100\n");
  EXPECT_EQ(config.epochs, 3);
  EXPECT_EQ(config.stepsOfEpoch, 100);
  config = folder.read(machines + "sync_mode: asp\nnum_minibatches: 101\n");
  EXPECT_EQ(config.stepsOfEpoch, 26) << "of 4 micro-batches";
  EXPECT_EQ(folder.read(machines + "epochs: 3\n").stepsOfEpoch, std::nullopt);
}

TEST(DriverWordsTest, StagesOnSeveralRanksAndDepthsAreThoseOfTheMaps) {
  const WrittenConfig folder;
  folder.write("conf.json", R"({"module_to_stage_map": [0, 1, 1],
      "stage_to_rank_map": {"0": [0, 1, 2], "1": [3]}, "stage_to_depth_map": {"0": 1, "1": 0}})");
  const RunConfig config = folder.read(
      "config_file: conf.json\nsync_mode: bsp\nmachines: [a:0, a:1, a:2, a:3]\nbatch_size: 6\n");
  EXPECT_EQ(valueOf(config, "stage_ranks"), "0,1,2/3");
  EXPECT_EQ(valueOf(config, "stage_depths"), "1,0");
  EXPECT_EQ(valueOf(config, "micro_batches"), "3") << "one for each rank of the first stage";
  EXPECT_EQ(valueOf(config, "stages"), "");
  const CheckedPlan plan = planOf(config);
  EXPECT_THAT(plan->ranksOf(0), ElementsAre(0, 1, 2));
  EXPECT_EQ(plan->numRanks(), 4);
  EXPECT_THAT(folder.errorOf("config_file: conf.json\nstages: 2\n"),
              HasSubstr(":2: stages: the stages are those of config_file in line 1"));
}

TEST(DriverWordsTest, WithoutInputPipeliningOneMicroBatchIsUnderWay) {
  const WrittenConfig folder;
  const RunConfig config = folder.read(
      "machines: [a:0, a:1, a:2]\nsync_mode: asp\nno_input_pipelining: true\n"
      "num_minibatches: 2\n");
  const CheckedPlan plan = planOf(config);
  const std::vector<Action>& first = plan->ranks.at(0);
  std::vector<JobKind> kinds;
  for (const Action& action : first) {
    if (action.kind == JobKind::kForward || action.kind == JobKind::kBackward) {
      kinds.push_back(action.kind);
    }
  }
  EXPECT_THAT(kinds, ElementsAre(JobKind::kForward, JobKind::kBackward, JobKind::kForward,
                                 JobKind::kBackward));
}

TEST(DriverWordsTest, ModulesOfAStageAreOnePartOfThePartition) {
  const WrittenConfig folder;
  folder.write("conf.json", R"({"module_to_stage_map": [0, 0, 1, 1]})");
  folder.write("parts.json", R"({"partition": [3, 4, 5], "recompute_ratio": [0.5, 0.25, 0]})");
  const RunConfig config = folder.read("config_file: conf.json\npartition: parts.json\n");
  const Partition partition = partitionOption(valueOf(config, "partition"));
  EXPECT_THAT(partition.blocks, ElementsAre(7, 5));
  EXPECT_EQ(partition.recomputed(0), 1 + 1) << "of int(0.5 * 3) and int(0.25 * 4)";
  EXPECT_EQ(partition.recomputed(1), 0);
  folder.write("parts.json", R"({"partition": [3, 4]})");
  EXPECT_THAT(folder.errorOf("config_file: conf.json\npartition: parts.json\n"),
              HasSubstr(":2: partition: it is of 2 modules, but module_to_stage_map in " +
                        folder.path("conf.json") + " has 3 and the loss"));
}

TEST(DriverWordsTest, WithoutAPartitionSeveralModulesOfAStageAreBlocks) {
  const WrittenConfig folder;
  folder.write("blocks.json", R"({"module_to_stage_map": [0, 0, 0, 1, 1]})");
  EXPECT_THAT(
      partitionOption(valueOf(folder.read("config_file: blocks.json\n"), "partition")).blocks,
      ElementsAre(3, 1));
  folder.write("stages.json", R"({"module_to_stage_map": [0, 1, 1]})");
  EXPECT_EQ(folder.read("config_file: stages.json\n").find("partition"), nullptr);
}

TEST(DriverWordsTest, OptionsOfTheProgramGoBeforeTheDriversKeys) {
  EXPECT_EQ(value("learning_rate: 0.1\nlr_schedule: cosine\nlearning_rate_policy: linear\n",
                  "lr_schedule"),
            "cosine");
  EXPECT_EQ(value("batch_size: 16\nbatch: 9\n", "batch"), "9");
  EXPECT_EQ(value("print_frequency: 3\nlog_every: 4\n", "log_every"), "4");
}

TEST(DriverWordsTest, ALossScaleOfOneNeedsNoHalfPrecision) {
  EXPECT_EQ(value("loss_scale: 1\n", "loss_scale"), "");
  EXPECT_EQ(value("loss_scale: 1\nfp16: True\n", "loss_scale"), "1");
  EXPECT_EQ(value("loss_scale: 128\n", "loss_scale"), "128") << "the engine refuses it";
  EXPECT_EQ(value("fp16: True\n", "precision"), "fp16");
  EXPECT_EQ(value("fp16: False\n", "precision"), "");
}

TEST(DriverWordsTest, RecomputeIsForAllBlocksUnlessThePartitionSays) {
  EXPECT_EQ(value("recompute: True\n", "recompute_ratio"), "1");
  const WrittenConfig folder;
  const RunConfig both =
      folder.read("recompute: True\npartition: {partition: [1, 1], recompute_ratio: [1, 0]}\n");
  EXPECT_EQ(both.find("recompute_ratio"), nullptr);
  EXPECT_THAT(both.notes, ElementsAre(HasSubstr("recompute")));
}

TEST(DriverWordsTest, WarmUpIsANumberOfStepsOrFiveEpochs) {
  EXPECT_EQ(value("lr_warmup: 7\n", "lr_warmup"), "7");
  EXPECT_EQ(value("lr_warmup: False\n", "lr_warmup"), "0");
  EXPECT_EQ(value("lr_warmup: True\n", "lr_warmup"), "");
}

}  // namespace
}  // namespace pipetrace
