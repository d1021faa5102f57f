#include "runtime/engine/config/driver_words.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/engine/config/config_file.h"
#include "schedule/build_schedule.h"
#include "schedule/builders/schedules.h"
#include "schedule/partition/partition_file.h"
#include "trace/error.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

std::string listText(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// "models.bert.gpus=4" of PipeDream, "vgpus=4" of VPipe. Other names with dots may be the
/// program's.
bool isModuleOfDrivers(const std::string& name) {
  if (name.find('/') != std::string::npos) return false;
  const std::string last = name.substr(name.rfind('.') + 1);
  return last.starts_with("gpus=") || last.starts_with("vgpus=") || name.starts_with("models.");
}

class DriverWords {
 public:
  DriverWords(const ConfigValues& values, const ConfigPaths& paths, RunConfig& config)
      : values_(values), paths_(paths), config_(config) {}

  void add() {
    addSchedule();
    readPartitionFile();
    addStages();
    addPartition();
    addMicroBatches();
    addLength();
    addOptimizer();
    addPrecision();
    addRecompute();
    addOthers();
    noteTheRest();
  }

 private:
  bool has(const std::string& name) const { return config_.find(name) != nullptr; }
  /// An option that follows from the key `from`, unless the file has the option itself.
  void say(const std::string& name, const std::string& value, const std::string& from,
           bool isOptional = false) {
    if (has(name)) return;
    config_.options.push_back({.name = name,
                               .values = {value},
                               .key = values_.keyOf(from),
                               .line = values_.lineOf(from),
                               .isOptional = isOptional});
  }

  void addSchedule() {
    const bool macrobatch = values_.truth("macrobatch");
    if (macrobatch && !config_.isAsynchronous) {
      values_.fail("macrobatch",
                   "it is for sync_mode: asp; under bsp a step has one update anyway");
    }
    if (!values_.has("sync_mode") || has("schedule_file")) return;
    if (!config_.isAsynchronous) {
      say("schedule", std::string(schedules::kOneFOneB.name), "sync_mode");
    } else {
      const ScheduleInfo& own = macrobatch ? schedules::kPipeDream2bw : schedules::kPipeDream;
      say("schedule", std::string(own.name), macrobatch ? "macrobatch" : "sync_mode");
    }
  }

  void readPartitionFile() {
    if (!values_.has("partition")) return;
    const ConfigValue& value = values_.value("partition");
    if (value.kind == ConfigValue::Kind::kMap) {
      partitionText_ = jsonOf(value);
    } else if (value.kind == ConfigValue::Kind::kList) {
      partitionText_ = "{\"partition\": " + jsonOf(value) + "}";
    } else {
      const std::string written = values_.text("partition");
      partitionText_ = isPartitionText(written) ? written : paths_.resolve(written);
    }
    try {
      partition_ = partitionOption(partitionText_);
    } catch (const Error& error) {
      values_.fail("partition", error.what());
    }
  }

  /// Stages of the model on a rank.
  int chunks() const {
    if (values_.has("chunks") && values_.whole("chunks", 0, 0) > 0) return values_.whole("chunks");
    const ConfigOption* const schedule = config_.find("schedule");
    if (schedule == nullptr || has("schedule_file") || schedule->values.size() != 1) return 1;
    const std::string& name = schedule->values.front();
    return isSchedule(name) ? scheduleInfo(name).usualChunks : 1;
  }

  void countRanks(const std::vector<std::vector<int>>& ranksOfStage) {
    stages_ = static_cast<int>(ranksOfStage.size());
    for (const std::vector<int>& ranks : ranksOfStage) {
      mostRanksOfStage_ = std::max(mostRanksOfStage_, static_cast<int>(ranks.size()));
    }
  }

  void addStages() {
    for (const char* const own : {"schedule_file", "stage_ranks", "stages"}) {
      if (!values_.has(own)) continue;
      if (config_.maps) {
        values_.fail(own, "the stages are those of config_file in line " +
                              std::to_string(values_.lineOf("config_file")) + "; leave one out");
      }
      if (std::string(own) == "stages") stages_ = values_.whole("stages");
      if (std::string(own) == "stage_ranks") countRanks(ranksOfStageFrom(values_.text(own)));
      addDepths();
      return;
    }
    if (config_.maps) {
      countRanks(config_.maps->stageRanks);
      if (config_.maps->isPlain()) {
        say("stages", std::to_string(stages_), "config_file");
      } else {
        say("stage_ranks", toText(config_.maps->stageRanks), "config_file");
      }
    } else if (!config_.machines.empty()) {
      const int replicas = values_.whole("dp", 1);
      const auto ranks = static_cast<int>(config_.machines.size());
      if (ranks % replicas != 0) {
        values_.fail("machines", std::to_string(ranks) + " ranks are not " +
                                     std::to_string(replicas) + " equal replicas (dp)");
      }
      stages_ = ranks / replicas;
      say("stages", std::to_string(stages_), "machines");
    } else if (partition_.numStages() > 0) {
      const int chunkCount = chunks();
      if (partition_.numStages() % chunkCount != 0) {
        values_.fail("partition", std::to_string(partition_.numStages()) +
                                      " stages cannot be on ranks with " +
                                      std::to_string(chunkCount) + " each");
      }
      stages_ = partition_.numStages() / chunkCount;
      say("stages", std::to_string(stages_), "partition");
    }
    addDepths();
  }

  void addDepths() {
    if (values_.truth("no_input_pipelining")) {
      if (stages_ == 0) {
        values_.fail("no_input_pipelining", "say how many stages there are");
      }
      say("stage_depths", listText(std::vector<int>(static_cast<std::size_t>(stages_), 0)),
          "no_input_pipelining");
    }
    if (config_.maps && !config_.maps->stageDepths.empty()) {
      say("stage_depths", listText(config_.maps->stageDepths), "config_file");
    }
  }

  /// Modules of one stage become one stage. Without a partition, several modules of a stage are
  /// blocks of the model.
  void addPartition() {
    if (!config_.maps) {
      if (!partitionText_.empty()) say("partition", partitionText_, "partition");
      return;
    }
    const std::vector<int> modules = config_.maps->modulesOfStages();
    const bool isOneEach =
        std::all_of(modules.begin(), modules.end(), [](int count) { return count == 1; });
    if (partitionText_.empty()) {
      if (isOneEach) return;
      say("partition", nlohmann::json{{"partition", modules}}.dump(), "config_file");
      return;
    }
    const std::size_t all = config_.maps->moduleToStage.size() - 1;
    if (partition_.blocks.size() != all) {
      values_.fail("partition", "it is of " + std::to_string(partition_.blocks.size()) +
                                    " modules, but module_to_stage_map in " + config_.mapsFile +
                                    " has " + std::to_string(all) + " and the loss");
    }
    say("partition", isOneEach ? partitionText_ : merged(modules), "partition");
  }

  std::string merged(const std::vector<int>& modules) const {
    Partition whole;
    int module = 0;
    for (const int count : modules) {
      int blocks = 0;
      int again = 0;
      for (int i = 0; i < count; ++i, ++module) {
        blocks += partition_.blocks[static_cast<std::size_t>(module)];
        again += partition_.recomputed(module);
      }
      whole.blocks.push_back(blocks);
      // The runtime rounds the product down: half a block keeps it above the count.
      whole.recomputeRatio.push_back(again == 0 ? 0 : std::min(1.0, (again + 0.5) / blocks));
    }
    return nlohmann::json{{"partition", whole.blocks}, {"recompute_ratio", whole.recomputeRatio}}
        .dump();
  }

  void addMicroBatches() {
    const bool isForwardOnly = values_.truth("forward_only");
    const std::string size =
        isForwardOnly && values_.has("eval_batch_size") ? "eval_batch_size" : "batch_size";
    int usual = config_.isAsynchronous ? 2 * stages_ : stages_;
    if (usual > 0) usual = std::max(usual, mostRanksOfStage_);  // each has a micro-batch
    if (config_.isAsynchronous) usual = std::min(usual, values_.whole("num_minibatches", usual));
    microBatches_ = values_.whole("micro_batches", usual);
    if (values_.has("sync_mode") && usual > 0 && !has("schedule_file")) {
      say("micro_batches", std::to_string(usual), "sync_mode");
    }
    if (!values_.has(size)) return;
    if (!config_.isAsynchronous) {
      say("batch", values_.text(size), size, /*isOptional=*/true);
      return;
    }
    if (microBatches_ == 0) {
      values_.fail(size,
                   "under asp it is that of a micro-batch; say micro_batches, how many a step "
                   "has");
    }
    const std::int64_t rows = std::int64_t{values_.whole(size)} * microBatches_;
    say("batch", std::to_string(rows), size, /*isOptional=*/true);
  }

  void addLength() {
    if (values_.has("epochs")) config_.epochs = values_.whole("epochs");
    if (!values_.has("num_minibatches")) return;
    const int all = values_.whole("num_minibatches");
    const int ofStep = config_.isAsynchronous ? std::max(microBatches_, 1) : 1;
    config_.stepsOfEpoch = (all + ofStep - 1) / ofStep;
  }

  void addOptimizer() {
    if (values_.has("learning_rate")) {
      say("learning_rate", values_.text("learning_rate"), "learning_rate");
    }
    if (values_.has("weight_decay")) {
      say("weight_decay", values_.text("weight_decay"), "weight_decay");
    }
    const std::string policy = values_.oneOf(
        "learning_rate_policy", {"constant", "linear", "cosine", "polynomial", "step"});
    if (policy == "step") {
      values_.fail("learning_rate_policy",
                   "the learning rate does not fall in steps here; it can be constant, linear, "
                   "cosine or polynomial (which is linear)");
    }
    if (!policy.empty()) {
      say("lr_schedule", policy == "polynomial" ? "linear" : policy, "learning_rate_policy");
    }
    if (!values_.has("lr_warmup")) return;
    bool truth = false;
    if (!isTruth(values_.text("lr_warmup"), truth)) {
      say("lr_warmup", values_.text("lr_warmup"), "lr_warmup");
    } else if (truth) {
      config_.warmsUpFiveEpochs = true;
    } else {
      say("lr_warmup", "0", "lr_warmup");
    }
  }

  void addPrecision() {
    if (values_.truth("fp16")) say("precision", "fp16", "fp16");
    if (!values_.has("loss_scale")) return;
    const std::string scale = values_.text("loss_scale");
    const ConfigOption* const precision = config_.find("precision");
    const bool isHalf = precision != nullptr && precision->values.front() == "fp16";
    const bool isOne = scale == "1" || scale == "1.0" || scale == "1.";
    if (isHalf || !isOne) say("loss_scale", scale, "loss_scale");
  }

  void addRecompute() {
    if (!values_.truth("recompute")) return;
    if (!partition_.recomputeRatio.empty()) {
      config_.notes.push_back("recompute says nothing beside the ratios of the partition");
      return;
    }
    say("recompute_ratio", "1", "recompute");
  }

  void addOthers() {
    if (values_.has("print_frequency")) {
      say("log_every", values_.text("print_frequency"), "print_frequency");
    }
    if (values_.has("verbose_frequency")) {
      say("inspect_every", values_.text("verbose_frequency"), "verbose_frequency");
    }
    addModule();
    for (const char* const input : {"data_dir", "bert_config"}) {
      if (!values_.has(input)) continue;
      say(std::string(input) == "data_dir" ? "data" : input, paths_.resolve(values_.text(input)),
          input, /*isOptional=*/true);
    }
    if (values_.has("checkpoint_dir") && !has("checkpoint")) {
      say("checkpoint", paths_.resolve(values_.text("checkpoint_dir")), "checkpoint_dir");
      config_.savesEpochs = !has("checkpoint_every");
    }
    for (const char* const flag : {"forward_only", "synthetic_data"}) {
      if (values_.truth(flag)) say(flag, "true", flag, std::string(flag) == "synthetic_data");
    }
  }

  /// A file of the program's, or a name that it knows. The drivers' modules are folders of code.
  void addModule() {
    if (!values_.has("module")) return;
    const std::string found = paths_.resolve(values_.text("module"));
    std::error_code error;
    if (std::filesystem::is_directory(found, error)) {
      config_.notes.push_back("module has no effect: " + found + " is a folder of the drivers");
      return;
    }
    const bool isFile = std::filesystem::is_regular_file(found, error);
    if (!isFile && isModuleOfDrivers(values_.text("module"))) {
      config_.notes.push_back("module has no effect: " + shownText(values_.text("module")) +
                              " is a Python module of the drivers");
      return;
    }
    say("module", isFile ? found : values_.text("module"), "module", /*isOptional=*/true);
  }

  void noteTheRest() {
    for (const char* const key : {"inputs_module_destinations", "target_tensor_names"}) {
      if (!values_.has(key)) continue;
      requireNames(key);
      config_.notes.push_back(std::string(key) +
                              " has no effect: a model says itself which blocks use its inputs");
    }
    if (values_.has("eval_batch_size") && !values_.truth("forward_only")) {
      config_.notes.emplace_back("eval_batch_size has no effect without forward_only");
    }
  }

  void requireNames(const std::string& key) const {
    const ConfigValue& value = values_.value(key);
    const bool isMap = key == "inputs_module_destinations";
    if (value.kind != (isMap ? ConfigValue::Kind::kMap : ConfigValue::Kind::kList)) {
      values_.fail(key, isMap ? "it is a map from inputs to modules, such as {input0: 0}"
                              : "it is a list of names");
    }
  }

  const ConfigValues& values_;
  const ConfigPaths& paths_;
  RunConfig& config_;
  std::string partitionText_;  // a path, or JSON itself
  Partition partition_;
  int stages_ = 0;  // ranks of a pipeline, or stages on several ranks; 0: not known
  int mostRanksOfStage_ = 1;
  int microBatches_ = 0;
};

}  // namespace

void addDriverWords(const ConfigValues& values, const ConfigPaths& paths, RunConfig& config) {
  DriverWords(values, paths, config).add();
}

}  // namespace pipetrace
