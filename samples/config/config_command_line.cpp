#include "samples/config/config_command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/config/config_file.h"
#include "runtime/engine/config/config_keys.h"
#include "runtime/engine/config/run_config.h"
#include "runtime/engine/say.h"
#include "trace/error.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

constexpr int kFailed = 2;
constexpr int kEpochsOfWarmup = 5;  // of PipeDream's runtime

/// The value of --config on the command line; empty without it.
std::string configFileIn(const std::vector<std::string>& arguments) {
  const std::string flag = "--config";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(flag + "=")) return arguments[i].substr(flag.size() + 1);
    if (arguments[i] == flag && i + 1 < arguments.size()) return arguments[i + 1];
  }
  return "";
}

/// The options, with their dashes, that people should know of.
std::vector<std::string> namesOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const each : app.get_options()) {
    if (each->get_group().empty()) continue;
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// Options of a command line that a file cannot have.
const std::set<std::string> kOfCommandLine = {"config", "dry_run", "help", "version"};

/// Options of setOption() alone, and what a file has in their place.
const std::map<std::string, std::string> kOfStrategies = {
    {"accumulate_steps", "micro_batches"},
    {"auto_mode", "partition, or auto_partition to have one found"},
    {"enable_send_recv_overlap", "no_send_recv_overlap: true for none"},
    {"gradient_scale", "nothing, as gradients are those of the mean over all rows"},
    {"ranks", "stages, or machines with one entry a rank"},
    {"schedule_mode", "schedule: 1F1B, Interleaved1F1B, ZB-H1, ..."}};

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
    options_.places.file = config_.file;
    addLengths();
    for (const ConfigOption& option : config_.options) add(option);
    const bool isLaunched = std::getenv("WORLD_SIZE") != nullptr;
    if (isLaunched && config_.backend == "nccl")
      addDerived("transport", "nccl", "distributed_backend");
    return std::move(arguments_);
  }

  const std::vector<std::string>& notes() const { return config_.notes; }

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
  void addDerived(const std::string& name, const std::string& value, const char* key) {
    if (config_.find(name) == nullptr) add({.name = name, .values = {value}, .key = key});
  }

  void addLengths() {
    const ConfigOption* const own = config_.find("steps");
    const int ofEpoch = config_.stepsOfEpoch.value_or(options_.steps);
    std::int64_t steps = own == nullptr ? options_.steps : 0;
    if (own == nullptr && (config_.epochs || config_.stepsOfEpoch)) {
      steps = std::int64_t{config_.epochs.value_or(1)} * ofEpoch;
      addDerived("steps", std::to_string(steps), "epochs");
    }
    if (config_.warmsUpFiveEpochs) {
      const std::int64_t warmup = std::int64_t{kEpochsOfWarmup} * ofEpoch;
      addDerived("lr_warmup", std::to_string(own == nullptr ? std::min(warmup, steps) : warmup),
                 "lr_warmup");
    }
    if (config_.savesEpochs)
      addDerived("checkpoint_every", std::to_string(ofEpoch), "checkpoint_dir");
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
    if (kOfCommandLine.count(option.name) > 0) {
      fail(option,
           option.key + " is an option of the command line alone" +
               (option.name == "config" ? "" : ": pipe-run CONFIG.yml " + flagOf(option.name)));
    }
    if (known == nullptr) {
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
    options_.places.options.push_back(option);
    requireResume(option);
    addValues(option, *known);
  }

  /// --resume of pipe-run takes a folder, too.
  void requireResume(const ConfigOption& option) const {
    if (option.name != "resume" || option.values.size() != 1) return;
    const std::string& value = option.values.front();
    bool unused = false;
    const bool isStep =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (isStep || isTruth(value, unused)) return;
    fail(option, "resume: " + shownText(value) + " is neither a step nor true; the folder is " +
                     "checkpoint_dir: " + shownText(value) + ", beside resume: true");
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
    const std::string unknown = "unknown key " + shownText(option.key);
    if (const auto other = kOfStrategies.find(option.name); other != kOfStrategies.end()) {
      fail(option, unknown + ", an option of Strategy; write " + other->second);
    }
    std::vector<std::string> names = namesOf(app_);
    for (const std::string& name : configKeyNames()) names.push_back(flagOf(name));
    const std::string meant = nearestOption(flagOf(option.name), names);
    fail(option,
         unknown + (meant.empty() ? "; it is neither of the drivers nor an option of the program"
                                  : "; did you mean " + configName(meant.substr(2)) + "?"));
  }

  CLI::App& app_;
  RunConfig config_;
  SampleOptions& options_;
  std::set<const CLI::Option*> given_;
  std::vector<std::string> arguments_;
};

/// "--lerning-rate; did you mean --learning-rate?", for arguments in their order.
std::string unexpectedText(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining();
  std::string text = unknown.size() == 1 ? "The following argument was not expected:"
                                         : "The following arguments were not expected:";
  for (const std::string& argument : unknown) text += " " + argument;
  for (const std::string& argument : unknown) {
    if (!argument.starts_with("--")) continue;
    const std::string meant = nearestOption(argument.substr(0, argument.find('=')), namesOf(app));
    if (!meant.empty()) return text + "; did you mean " + meant + "?";
  }
  return text;
}

/// Says what CLI11 says, and what to do where the options of a file are concerned.
std::string reasonOf(const CLI::App& app, const CLI::ParseError& error,
                     const OptionPlaces& places) {
  const std::string text = error.what();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    return unexpectedText(app);
  }
  if (places.file.empty()) return text;
  constexpr std::string_view kRequires = " requires ";
  const std::size_t needed = text.find(kRequires);
  if (error.get_name() == "RequiresError" && needed != std::string::npos) {
    const std::string flag = text.substr(needed + kRequires.size());
    const std::string key = flag == "--checkpoint" ? "checkpoint_dir" : configName(flag.substr(2));
    return text + "; give " + key + " in " + places.file;
  }
  return places.placed(text);
}

}  // namespace

std::optional<int> parseWithConfig(CLI::App& app, int argc, char** argv, SampleOptions& options) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string file = configFileIn(arguments);
  if (app.get_name().empty()) app.name(argv[0]);
  app.set_version_flag("-V,--version",
                       std::filesystem::path(argv[0]).filename().string() + " " PIPETRACE_VERSION);
  std::vector<std::string> notes;
  try {
    if (!file.empty()) {
      ConfigArguments made(app, arguments, readRunConfig(file), options);
      const std::vector<std::string> more = made.make();
      arguments.insert(arguments.begin(), more.begin(), more.end());
      notes = made.notes();
    }
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help
    sayOnStderr("error: " + reasonOf(app, error, options.places));
    if (options.places.file.empty()) sayOnStderr("Run with --help for more information.");
    return kFailed;
  } catch (const Error& error) {
    sayOnStderr(std::string("error: ") + error.what());
    return kFailed;
  }
  if (options.dryRun) {
    for (const std::string& note : notes) sayOnStderr("note: " + note);
  }
  return std::nullopt;
}

}  // namespace pipetrace
