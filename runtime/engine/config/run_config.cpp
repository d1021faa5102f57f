#include "runtime/engine/config/run_config.h"

#include <algorithm>
#include <filesystem>

#include "runtime/engine/config/config_file.h"
#include "runtime/engine/config/config_keys.h"
#include "runtime/engine/config/driver_words.h"
#include "runtime/starting_ranks/hosts/host_list.h"
#include "schedule/options/schedule_options.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kMostPort = 65535;
constexpr std::size_t kLongestHost = 300;

/// Whether the value of a program's option is a path, beside those that follow from the drivers'
/// keys.
bool isPath(const std::string& name) {
  for (const ScheduleOption& option : kScheduleOptions) {
    const std::vector<std::string> keys = keysOf(option);
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) return takesFile(option);
  }
  return name == "data" || name == "checkpoint" || name == "vocabulary" || name == "log_dir";
}

class RunConfigReader {
 public:
  explicit RunConfigReader(const std::string& path) : values_(path) {
    config_.file = std::filesystem::absolute(path).lexically_normal().string();
  }

  RunConfig read() {
    readPlaces();
    readMachines();
    readMaster();
    config_.module = values_.text("module");
    config_.container = values_.text("container");
    if (values_.has("container")) config_.containerLine = values_.lineOf("container");
    config_.backend = values_.oneOf("distributed_backend", {"gloo", "nccl"});
    config_.isAsynchronous = values_.oneOf("sync_mode", {"asp", "bsp"}) == "asp";
    if (values_.has("config_file")) {
      config_.mapsFile = existing("config_file", values_.text("config_file"));
      config_.maps = readStageMaps(config_.mapsFile);
    }
    addProgramOptions();
    addDriverWords(values_, paths_, config_);
    return std::move(config_);
  }

 private:
  void readPlaces() {
    config_.modelType = values_.text("model_type");
    config_.directory = values_.has("directory") ? values_.text("directory") : config_.modelType;
    if (values_.has("directory")) config_.directoryLine = values_.lineOf("directory");
    paths_.fileFolder = std::filesystem::path(config_.file).parent_path().string();
    paths_.folder = modelFolder(config_.directory, paths_.fileFolder);
    config_.folder = paths_.folder;
    const std::string logs =
        values_.text(values_.has("log_directory") ? "log_directory" : "log_dir");
    config_.logDirectory = paths_.resolve(logs.empty() ? "logs" : logs);
    if (values_.has("log_directory") && values_.has("log_dir")) {
      config_.notes.emplace_back(
          "log_dir is for the program alone; pipe-run has its logs in log_directory");
    }
  }

  /// The file of a key that must be there.
  std::string existing(const std::string& name, const std::string& path) const {
    const std::string found = paths_.resolve(path);
    std::error_code error;
    if (std::filesystem::exists(found, error)) return found;
    std::string tried;
    for (const std::string& each : paths_.candidates(path)) {
      tried += (tried.empty() ? "" : " nor ") + each;
    }
    values_.fail(name, "there is no " + tried);
  }

  void readMachines() {
    if (!values_.has("machines")) return;
    config_.machinesLine = values_.lineOf("machines");
    const ConfigValue& list = values_.value("machines");
    if (list.kind != ConfigValue::Kind::kList || list.items.empty()) {
      values_.fail("machines", "it is a list of HOST:GPU, one for each rank");
    }
    for (const ConfigValue& item : list.items) {
      const std::string place = placeIn(values_.file(), item.line) + ": machines: ";
      if (item.kind != ConfigValue::Kind::kText || item.text.size() > kLongestHost) {
        throw Error(place + shownText(item.text) + " is no HOST:GPU, such as localhost:0");
      }
      try {
        config_.machines.push_back(parseRankHost(item.text));
      } catch (const Error& error) {
        throw Error(place + error.what());
      }
    }
  }

  void readMaster() {
    config_.masterAddress = values_.text("master_addr");
    if (values_.has("master_addr")) config_.masterAddressLine = values_.lineOf("master_addr");
    config_.masterPort = values_.whole("master_port");
    if (config_.masterPort > kMostPort) {
      values_.fail("master_port", "there is no port " + std::to_string(config_.masterPort));
    }
    if (values_.has("master_port")) config_.masterPortLine = values_.lineOf("master_port");
  }

  /// All keys that the drivers do not have.
  void addProgramOptions() {
    for (const std::string& name : values_.names()) {
      if (findConfigKey(name) != nullptr) continue;
      const ConfigValue& value = values_.value(name);
      ConfigOption option{
          .name = name, .values = {}, .key = values_.keyOf(name), .line = values_.lineOf(name)};
      if (value.kind == ConfigValue::Kind::kMap) values_.fail(name, "it has no keys of its own");
      if (value.kind == ConfigValue::Kind::kText) option.values = {value.text};
      for (const ConfigValue& item : value.items) {
        if (item.kind != ConfigValue::Kind::kText) values_.fail(name, "it is a list of values");
        option.values.push_back(item.text);
      }
      for (std::string& text : option.values) {
        if (isPath(name) && !text.empty() && text != "-") text = paths_.resolve(text);
      }
      config_.options.push_back(std::move(option));
    }
  }

  ConfigValues values_;
  ConfigPaths paths_;
  RunConfig config_;
};

}  // namespace

const ConfigOption* RunConfig::find(const std::string& name) const {
  for (const ConfigOption& option : options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string RunConfig::placeOf(const std::string& name) const {
  const ConfigOption* const option = find(name);
  return option == nullptr ? "" : placeIn(file, option->line);
}

RunConfig readRunConfig(const std::string& path) { return RunConfigReader(path).read(); }

}  // namespace pipetrace
