#include "runtime/engine/config/run_config.h"

#include <gmock/gmock.h>

#include "runtime/engine/config/config_keys.h"
#include "runtime/engine/config/config_plan.h"
#include "runtime/engine/config/testing/written_config.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> textsOf(const RunConfig& config) {
  std::vector<std::string> texts;
  for (const ConfigOption& option : config.options) texts.push_back(textOf(option));
  return texts;
}

// All keys of the drivers, and the runtime's flags; and some options of a program.
constexpr const char* kEveryKey =
    "directory: model\n"
    "log_directory: output\n"
    "module: vgpus=2\n"
    "data_dir: text of all\n"
    "config_file: conf.json\n"
    "partition: parts.json\n"
    "container: nvcr.io/some/image:1\n"
    "machines: ['localhost:0', 'other.host:7']\n"
    "model_type: bert\n"
    "sync_mode: asp\n"
    "distributed_backend: nccl\n"
    "batch_size: 16\n"
    "learning_rate: 0.05\n"
    "learning_rate_policy: polynomial\n"
    "weight_decay: 0.0005\n"
    "epochs: 40\n"
    "print_frequency: 100\n"
    "verbose_frequency: 7\n"
    "lr_warmup: True\n"
    "synthetic_data: True\n"
    "recompute: True\n"
    "macrobatch: True\n"
    "no_input_pipelining: True\n"
    "checkpoint_dir: saved\n"
    "bert_config: bert.json\n"
    "master_addr: 10.0.0.1\n"
    "master_port: 12345\n"
    "forward_only: True\n"
    "num_minibatches: 10\n"
    "eval_batch_size: 8\n"
    "fp16: True\n"
    "loss_scale: 128\n"
    "inputs_module_destinations: {input0: 0, input1: 0}\n"
    "target_tensor_names: [target]\n"
    "compress_activations: False\n"
    "compress_in_gpu: False\n"
    "live_migration: no\n"
    "swapping: off\n"
    "translation_model: False\n"
    "clip_grad_norm: 5.0\n"
    "no-decay: [bias, norm]\n";

TEST(RunConfigTest, AFileWithEveryKeyIsRead) {
  const WrittenConfig folder;
  folder.write("model/conf.json", R"({"module_to_stage_map": [0, 1, 1]})");
  folder.write("parts.json", R"({"partition": [2, 3]})");
  for (const std::string& name : configKeyNames()) {
    if (findConfigKey(name)->name != name) continue;  // an alias
    EXPECT_THAT(kEveryKey, HasSubstr(name + ":"));
  }
  const RunConfig config = folder.read(kEveryKey);
  EXPECT_EQ(config.file, folder.path());
  EXPECT_EQ(config.directory, "model");
  EXPECT_EQ(config.folder, folder.path("model"));
  EXPECT_EQ(config.logDirectory, folder.path("model/output"));
  EXPECT_EQ(config.module, "vgpus=2");
  EXPECT_EQ(config.modelType, "bert");
  EXPECT_EQ(config.container, "nvcr.io/some/image:1");
  ASSERT_THAT(config.machines, SizeIs(2));
  EXPECT_EQ(config.machines[1].host, "other.host");
  EXPECT_EQ(config.machines[1].device, 7);
  EXPECT_EQ(config.masterAddress, "10.0.0.1");
  EXPECT_EQ(config.masterPort, 12345);
  EXPECT_EQ(config.backend, "nccl");
  EXPECT_TRUE(config.isAsynchronous);
  EXPECT_EQ(config.mapsFile, folder.path("model/conf.json"));
  EXPECT_EQ(config.epochs, 40);
  EXPECT_EQ(config.stepsOfEpoch, 3) << "10 minibatches in steps of 4";
  EXPECT_TRUE(config.warmsUpFiveEpochs);
  EXPECT_TRUE(config.savesEpochs);
  EXPECT_THAT(config.notes, SizeIs(3));
  EXPECT_THAT(textsOf(config),
              UnorderedElementsAreArray({"clip_grad_norm=5.0",
                                         "no_decay=bias,norm",
                                         "schedule=PipeDream-2BW",
                                         "stages=2",
                                         "stage_depths=0,0",
                                         ("partition=" + folder.path("parts.json")).c_str(),
                                         "micro_batches=4",
                                         "batch=32",
                                         "learning_rate=0.05",
                                         "weight_decay=0.0005",
                                         "lr_schedule=linear",
                                         "precision=fp16",
                                         "loss_scale=128",
                                         "recompute_ratio=1",
                                         "log_every=100",
                                         "inspect_every=7",
                                         ("data=" + folder.path("model/text of all")).c_str(),
                                         ("bert_config=" + folder.path("model/bert.json")).c_str(),
                                         ("checkpoint=" + folder.path("model/saved")).c_str(),
                                         "forward_only=true",
                                         "synthetic_data=true"}));
}

TEST(RunConfigTest, AliasesMeanTheSame) {
  const WrittenConfig folder;
  const std::string rest = "machines: [a:0, b:0]\nsync_mode: bsp\n";
  const auto both = [&](const char* one, const char* other) {
    EXPECT_EQ(textsOf(folder.read(rest + one)), textsOf(folder.read(rest + other))) << one;
  };
  both("lr: 0.1\n", "learning_rate: 0.1\n");
  both("b: 16\n", "batch_size: 16\n");
  both("verbose_freq: 3\n", "verbose_frequency: 3\n");
  both("print_freq: 3\n", "print_frequency: 3\n");
  both("lr_policy: cosine\n", "learning-rate-policy: cosine\n");
  both("wd: 0.1\n", "weight-decay: 0.1\n");
  EXPECT_EQ(folder.errorOf("lr: 0.1\nepochs: 3\nlearning_rate: 0.1\n"),
            folder.path() + ":3: learning_rate is there twice; first, as lr, in line 1");
  EXPECT_EQ(folder.errorOf("epochs: 3\nepochs: 4\n"),
            folder.path() + ":2: epochs is there twice; first in line 1");
}

TEST(RunConfigTest, KeysOfWorkThatIsNotDoneAreRefusedUnlessTheyAreFalse) {
  const WrittenConfig folder;
  for (const char* const key : {"compress_activations", "compress_in_gpu", "live_migration",
                                "migration", "swapping", "swap", "translation_model"}) {
    EXPECT_EQ(folder.errorOf("epochs: 1\n" + std::string(key) + ": False\n"), "") << key;
    EXPECT_THAT(folder.errorOf("epochs: 1\n" + std::string(key) + ": True\n"),
                StartsWith(folder.path() + ":2: " + key + ": it can only be false: "));
  }
}

TEST(RunConfigTest, ValuesOfAnotherKindAreRefusedWithTheirLine) {
  const WrittenConfig folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"batch_size: 0", "batch_size: 0 is no whole number of 1 or more"},
      {"b: 1.5", "b: 1.5 is no whole number"},
      {"lr: fast", "lr: fast is no number of 0 or more"},
      {"lr: -0.1", "lr: -0.1 is no number"},
      {"lr: .nan", "lr: .nan is no number"},
      {"epochs: [1, 2]", "epochs: one value is meant here"},
      {"fp16: 2", "fp16: 2 is neither true nor false"},
      {"lr_warmup: x", "lr_warmup: x is neither true nor false nor a number of steps"},
      {"sync_mode: bps", "sync_mode: bps is none of asp, bsp; did you mean bsp?"},
      {"distributed_backend: mpi", "distributed_backend: mpi is none of gloo, nccl"},
      {"learning_rate_policy: step", "does not fall in steps here"},
      {"machines: localhost:0", "it is a list of HOST:GPU"},
      {"machines: []", "it is a list of HOST:GPU"},
      {"machines: [[h]]", "is no HOST:GPU, such as localhost:0"},
      {"machines: ['h:x']", "machines: \"h:x\" is no HOST:GPU, as 'x' is no number of a GPU"},
      {"machines: [':0']", "machines: \":0\" begins with no name of a host"},
      {"master_port: 65536", "there is no port 65536"},
      {"macrobatch: true", "it is for sync_mode: asp"},
      {"directory: ''", "directory: it is empty"},
      {"target_tensor_names: x", "it is a list of names"},
      {"schedule: {a: b}", "schedule: it has no keys of its own"}};
  for (const auto& [line, message] : cases) {
    EXPECT_THAT(folder.errorOf("module: x\n" + line + "\n"),
                AllOf(StartsWith(folder.path() + ":2: "), HasSubstr(message)))
        << line;
  }
}

TEST(RunConfigTest, PathsBeginInTheFolderOfTheModelAndThenInThatOfTheFile) {
  const WrittenConfig folder;
  folder.write("a model/in both.json", R"({"partition": [1, 2]})");
  folder.write("in both.json", R"({"partition": [3, 4, 5]})");
  folder.write("beside the file.json", R"({"partition": [6]})");
  const auto partition = [&](const std::string& name) {
    return folder.read("directory: a model\npartition: " + name + "\n").find("partition")->values;
  };
  EXPECT_THAT(partition("in both.json"), Contains(folder.path("a model/in both.json")));
  EXPECT_THAT(partition("beside the file.json"), Contains(folder.path("beside the file.json")));
  EXPECT_THAT(partition(folder.path("in both.json")), Contains(folder.path("in both.json")));
  EXPECT_THAT(folder.errorOf("directory: a model\nconfig_file: none.json\n"),
              HasSubstr(":2: config_file: there is no " + folder.path("a model/none.json") +
                        " nor " + folder.path("none.json")));
  const RunConfig sample = folder.read("directory: bert\nlog_directory: output\n");
  EXPECT_EQ(sample.folder, "") << "it is no folder here, so a sample";
  EXPECT_EQ(sample.logDirectory, folder.path("output"));
  EXPECT_EQ(folder.read("epochs: 1\n").logDirectory, folder.path("logs"));
}

TEST(RunConfigTest, AModuleIsAFileANameOrAFolderOfTheDrivers) {
  const WrittenConfig folder;
  folder.write("bert/small.json", "{}");
  folder.write("bert/vgpus=4/vpipe.json", "{}");
  const RunConfig file = folder.read("directory: bert\nmodule: small.json\n");
  EXPECT_THAT(textsOf(file), Contains("module=" + folder.path("bert/small.json")));
  EXPECT_THAT(textsOf(folder.read("directory: bert\nmodule: bert-base\n")),
              Contains("module=bert-base"));
  const RunConfig drivers = folder.read("directory: bert\nmodule: vgpus=4\n");
  EXPECT_THAT(textsOf(drivers), IsEmpty());
  EXPECT_THAT(drivers.notes, Contains(HasSubstr("module has no effect: ")));
  for (const char* const name : {"models.bert.gpus=4", "gpus=2", "models.vgg16"}) {
    const RunConfig python = folder.read("directory: bert\nmodule: " + std::string(name) + "\n");
    EXPECT_THAT(textsOf(python), IsEmpty()) << name;
    EXPECT_THAT(python.notes, Contains(HasSubstr(std::string(name) + " is a Python module")));
  }
  for (const char* const name : {"bert-base", "gpt2.5", "none.json", "a=b"}) {
    EXPECT_THAT(textsOf(folder.read("module: " + std::string(name) + "\n")),
                Contains("module=" + std::string(name)));
  }
}

TEST(RunConfigTest, TheProgramsLogFolderIsThatOfRunsToo) {
  const WrittenConfig folder;
  EXPECT_EQ(folder.read("log_dir: x\n").logDirectory, folder.path("x"));
  const RunConfig both = folder.read("log_dir: x\nlog_directory: y\n");
  EXPECT_EQ(both.logDirectory, folder.path("y"));
  EXPECT_THAT(both.notes, Contains(HasSubstr("log_dir is for the program alone")));
}

TEST(RunConfigTest, WithoutADirectoryTheModelTypeNamesTheProgram) {
  const WrittenConfig folder;
  EXPECT_EQ(folder.read("model_type: image_classification\n").directory, "image_classification");
}

TEST(RunConfigTest, ThePlanHasAsManyRanksAsTheFileSays) {
  const WrittenConfig folder;
  const auto plan = [&](const std::string& text) { return planOf(folder.read(text)); };
  const CheckedPlan asp = plan("machines: [a:0, a:1, b:0]\nsync_mode: asp\n");
  EXPECT_EQ(asp->name, "PipeDream");
  EXPECT_EQ(asp->numRanks(), 3);
  EXPECT_EQ(asp->numMicroBatches, 6);
  EXPECT_EQ(plan("machines: [a:0, a:1, b:0, b:1]\ndp: 2\nsync_mode: bsp\n")->replicas, 2);
  EXPECT_EQ(plan("stages: 2\nschedule: ZB-H1\nmicro_batches: 5\n")->numMicroBatches, 5);
  EXPECT_EQ(plan("partition: {partition: [1, 2, 3, 4]}\nschedule: Interleaved1F1B\n")->numRanks(),
            2)
      << "two stages each";
}

TEST(RunConfigTest, MachinesAndPartitionsOfAnotherPlanAreRefused) {
  const WrittenConfig folder;
  const auto errorOf = [&](const std::string& text) {
    try {
      planOf(folder.read(text));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string place = folder.path();
  EXPECT_EQ(errorOf("stages: 2\nmachines: [a:0, a:1, a:2]\n"),
            place + ":2: machines: it names 3 ranks, but the plan 1F1B has 2");
  EXPECT_EQ(errorOf("stages: 2\nmachines: [a:0]\n"),
            place + ":2: machines: it names 1 rank, but the plan 1F1B has 2");
  EXPECT_THAT(errorOf("machines: [a:0, a:1]\npartition: {partition: [1, 2, 3]}\n"),
              StartsWith(place + ":2: partition: it is for 3 stages, but the plan 1F1B has 2"));
  EXPECT_EQ(errorOf("epochs: 3\n"), place +
                                        ": it does not say how many ranks there are; give "
                                        "machines, config_file, partition or stages");
  EXPECT_THAT(errorOf("stages: 2\nmicro_batches: none\n"),
              StartsWith(place + ":2: micro_batches: none is no whole number"));
  EXPECT_EQ(errorOf("stages: 2\nstash_update: last\n"),
            place + ":2: stash_update: last: it is newest or oldest");
  EXPECT_THAT(errorOf("stages: 2\nschedule: 2F2B\n"),
              AllOf(StartsWith(place + ": "), HasSubstr("2F2B")));
  EXPECT_THAT(errorOf("epochs: 1\npartition: {partition: [0, 2]}\n"),
              AllOf(StartsWith(place + ":2: partition: "), HasSubstr("no number of blocks")));
  EXPECT_THAT(errorOf("machines: [a:0, a:1, a:2]\ndp: 2\n"),
              StartsWith(place + ":1: machines: 3 ranks are not 2 equal replicas"));
}

}  // namespace
}  // namespace pipetrace
