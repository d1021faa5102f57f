#include "samples/config/config_command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "runtime/engine/config/config_file.h"
#include "runtime/engine/config/config_keys.h"
#include "runtime/engine/config/config_values.h"
#include "runtime/engine/config/run_config.h"
#include "runtime/engine/say.h"
#include "trace/error.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

constexpr int kFailed = 2;
constexpr int kEpochsOfWarmup = 5;  // of PipeDream's runtime

std::string flagOf(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

/// The value of --config on the command line; empty without it.
std::string configFileIn(const std::vector<std::string>& arguments) {
  const std::string flag = "--config";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(flag + "=")) return arguments[i].substr(flag.size() + 1);
    if (arguments[i] == flag && i + 1 < arguments.size()) return arguments[i + 1];
  }
  return "";
}

/// Makes arguments of a configuration file's options.
class ConfigArguments {
 public:
  ConfigArguments(CLI::App& app, const std::vector<std::string>& given, RunConfig config,
                  SampleOptions& options)
      : app_(app), config_(std::move(config)), options_(options) {
    for (const CLI::Option* const option : app.get_options()) {
      if (isGiven(*option, given)) given_.insert(option);
    }
  }

  std::vector<std::string> make() {
    addLengths();
    for (const ConfigOption& option : config_.options) add(option);
    const bool isLaunched = std::getenv("WORLD_SIZE") != nullptr;
    if (isLaunched && config_.backend == "nccl") addDerived("transport", "nccl");
    return std::move(arguments_);
  }

  const RunConfig& config() const { return config_; }

 private:
  static bool isGiven(const CLI::Option& option, const std::vector<std::string>& given) {
    if (!option.get_envname().empty() && std::getenv(option.get_envname().c_str()) != nullptr) {
      return true;
    }
    for (const std::string& name : option.get_lnames()) {
      const std::string flag = "--" + name;
      for (const std::string& argument : given) {
        if (argument == flag || argument.starts_with(flag + "=")) return true;
      }
    }
    return false;
  }

  [[noreturn]] void fail(const ConfigOption& option, const std::string& why) const {
    throw Error(placeIn(config_.file, option.line) + ": " + why);
  }

  /// An option that follows from others, unless the file has it itself.
  void addDerived(const std::string& name, const std::string& value) {
    if (config_.find(name) == nullptr) add({.name = name, .values = {value}, .key = name});
  }

  void addLengths() {
    const ConfigOption* const own = config_.find("steps");
    const int ofEpoch = config_.stepsOfEpoch.value_or(options_.steps);
    std::int64_t steps = own == nullptr ? options_.steps : 0;
    if (own == nullptr && (config_.epochs || config_.stepsOfEpoch)) {
      steps = std::int64_t{config_.epochs.value_or(1)} * ofEpoch;
      addDerived("steps", std::to_string(steps));
    }
    if (config_.warmsUpFiveEpochs) {
      const std::int64_t warmup = std::int64_t{kEpochsOfWarmup} * ofEpoch;
      addDerived("lr_warmup", std::to_string(own == nullptr ? std::min(warmup, steps) : warmup));
    }
    if (config_.savesEpochs) addDerived("checkpoint_every", std::to_string(ofEpoch));
  }

  /// `module` is what the program calls its variants.
  ConfigOption named(ConfigOption option) const {
    const bool isOther = option.name == "module" && config_.find("bert_config") == nullptr &&
                         app_.get_option_no_throw("--module") == nullptr &&
                         app_.get_option_no_throw("--bert-config") != nullptr;
    if (isOther) option.name = "bert_config";
    return option;
  }

  void add(const ConfigOption& given) {
    const ConfigOption option = named(given);
    const CLI::Option* const known = app_.get_option_no_throw(flagOf(option.name));
    const bool isOfFile = known != nullptr && option.name != "config" && option.name != "help" &&
                          option.name != "dry_run";
    if (!isOfFile) {
      if (option.isOptional) {
        config_.notes.push_back(fmt::format("{} has no effect: the program has no option {}",
                                            option.key, flagOf(option.name)));
        return;
      }
      refuse(option);
    }
    // The command line goes before the file.
    if (given_.count(known) > 0) return;
    for (const CLI::Option* const other : known->get_excludes()) {
      if (given_.count(other) > 0) return;
    }
    if (option.name == "partition") options_.partitionPlace = placeIn(config_.file, option.line);
    addValues(option, *known);
  }

  void addValues(const ConfigOption& option, const CLI::Option& known) {
    const std::string flag = flagOf(option.name);
    const bool isFlag = known.get_items_expected_max() == 0;
    const bool mayBeFlag = known.get_items_expected_min() == 0;
    bool truth = false;
    const bool hasTruth = option.values.size() == 1 && isTruth(option.values.front(), truth);
    if (mayBeFlag && hasTruth) {
      if (truth) arguments_.push_back(flag);
      return;
    }
    if (isFlag) fail(option, option.key + ": it is neither true nor false");
    const bool takesSeveral = known.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (option.values.size() != 1 && !takesSeveral) {
      fail(option, option.key + ": one value is meant here");
    }
    for (const std::string& value : option.values) arguments_.push_back(flag + "=" + value);
  }

  [[noreturn]] void refuse(const ConfigOption& option) const {
    std::vector<std::string> names;
    for (const CLI::Option* const each : app_.get_options()) {
      if (each->get_group().empty()) continue;
      for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
    }
    for (const std::string& name : configKeyNames()) names.push_back(flagOf(name));
    const std::string meant = nearestOption(flagOf(option.name), names);
    fail(option, "unknown key " + shownText(option.key) +
                     (meant.empty() ? "; it is neither of the drivers nor an option of the program"
                                    : "; did you mean " + configName(meant.substr(2)) + "?"));
  }

  CLI::App& app_;
  RunConfig config_;
  SampleOptions& options_;
  std::set<const CLI::Option*> given_;
  std::vector<std::string> arguments_;
};

/// The place in the file that an error of the command line is about; empty: it is not of the file.
std::string placeOf(const CLI::ParseError& error, const RunConfig& config) {
  const std::string text = error.what();
  for (const ConfigOption& option : config.options) {
    const std::size_t at = text.find(flagOf(option.name));
    if (at == std::string::npos) continue;
    const std::size_t end = at + flagOf(option.name).size();
    const bool isWhole =
        end == text.size() ||
        (text[end] != '-' && std::isalnum(static_cast<unsigned char>(text[end])) == 0);
    if (isWhole) return placeIn(config.file, option.line) + ": " + option.key + ": ";
  }
  return "";
}

}  // namespace

std::optional<int> parseWithConfig(CLI::App& app, int argc, char** argv, SampleOptions& options) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string file = configFileIn(arguments);
  RunConfig config;
  try {
    if (!file.empty()) {
      ConfigArguments made(app, arguments, readRunConfig(file), options);
      const std::vector<std::string> more = made.make();
      arguments.insert(arguments.begin(), more.begin(), more.end());
      config = made.config();
    }
    if (app.get_name().empty()) app.name(argv[0]);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    const std::string place = error.get_exit_code() == 0 ? std::string() : placeOf(error, config);
    if (place.empty()) return app.exit(error) == 0 ? 0 : kFailed;
    sayOnStderr("error: " + place + error.what());
    return kFailed;
  } catch (const Error& error) {
    sayOnStderr(std::string("error: ") + error.what());
    return kFailed;
  }
  if (options.dryRun) {
    for (const std::string& note : config.notes) sayOnStderr("note: " + note);
  }
  return std::nullopt;
}

}  // namespace pipetrace
