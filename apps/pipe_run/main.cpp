#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/cli/command_app.h"
#include "apps/cli/common_commands.h"
#include "apps/cli/program.h"
#include "apps/pipe_run/config/run_config_file.h"
#include "apps/pipe_run/launch.h"
#include "apps/pipe_run/options.h"
#include "apps/pipe_run/rehearse.h"
#include "trace/error.h"
#include "trace/text/shell_word.h"
#include "trace/text/suggestions.h"

namespace pipetrace {

/// pipe-run: without a command it launches a program.
const Program& pipeRun();

namespace {

void describeLaunch(CommandApp& app) {
  static PipeRunOptions options;
  addPipeRunOptions(app, options, pipeRun());
}

bool contains(const std::vector<std::string>& arguments, const char* text) {
  return std::find(arguments.begin(), arguments.end(), text) != arguments.end();
}

/// Options that need a configuration file.
bool needsConfig(const std::string& argument) {
  return argument == "--dry-run" || argument == "--quiet" || argument.starts_with("--resume") ||
         argument == "--rank-of-launcher";
}

/// Throws Error where a configuration file seems to be meant that has another name.
void requireNoConfig(const std::vector<std::string>& arguments) {
  const auto file = std::find_if(arguments.begin(), arguments.end(), [](const auto& argument) {
    std::error_code unused;
    return !argument.starts_with("-") && std::filesystem::is_regular_file(argument, unused);
  });
  if (file == arguments.end() || std::none_of(arguments.begin(), arguments.end(), needsConfig)) {
    return;
  }
  std::string line = "pipe-run";
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    line += (argument == file ? " --config-file " : " ") + shellWord(*argument);
  }
  throw Error("a configuration file whose name does not end in .yml is given so: " + line);
}

/// Throws Error for an option that may be the program's, which `config` has for it.
void requireKnownOptions(const CommandApp& app, const std::vector<std::string>& arguments,
                         const std::string& config) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string flag = argument.substr(0, equals);
    if (!flag.starts_with("--") || flag.size() == 2) continue;
    if (app.get_option_no_throw(flag) != nullptr || !nearestOption(flag, names).empty()) continue;
    std::string key = flag.substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    const bool hasNext = i + 1 < arguments.size() && !arguments[i + 1].starts_with("-");
    const std::string value = equals != std::string::npos ? argument.substr(equals + 1)
                              : hasNext                   ? arguments[i + 1]
                                                          : "true";
    throw Error(
        fmt::format("{} is no option of pipe-run; put {}: {} into {}", flag, key, value, config));
  }
}

/// Throws Error for arguments without "--" that name a program or a command.
void requireNoName(const std::vector<std::string>& arguments) {
  requireNoConfig(arguments);
  const std::string meant = withDashes(arguments, pipeRun());
  if (!meant.empty()) throw Error("the program comes after --: " + meant);
  for (const char* const option : {"-h", "--help", "-V", "--version"}) {
    if (contains(arguments, option)) return;
  }
  for (const Command& command : pipeRun().commands) {
    if (!contains(arguments, command.name.c_str())) continue;
    throw Error(
        fmt::format("the command comes first: pipe-run {0} ...; a program that is called "
                    "{0} comes after --",
                    command.name));
  }
}

bool namesConfig(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument.starts_with("--config_file") || argument.starts_with("--config-file");
  });
}

/// Throws Error for options of a configuration file without one, and the other way round.
void requireFits(const PipeRunOptions& options, bool hasDashes) {
  if (!options.config.empty()) {
    if (hasDashes) {
      throw Error("the program is the one that " + options.config +
                  " names; leave out what comes after --");
    }
    if (options.ranks) {
      throw Error("--ranks is for a program after --; the ranks are those of " + options.config);
    }
    if (options.isRankOfLauncher && options.dryRun) {
      throw Error("--rank-of-launcher starts a rank; check the file with pipe-run " +
                  options.config + " --dry-run");
    }
    if (options.isRankOfLauncher && options.restarts > 0) {
      throw Error("--restarts is for ranks that pipe-run starts; a launcher starts its own again");
    }
    if (!options.hosts.empty()) {
      throw Error("--hosts is for a program after --; the hosts are the machines of " +
                  options.config);
    }
    return;
  }
  const bool isOfConfig = options.dryRun || options.resume || options.isRankOfLauncher;
  if (isOfConfig) {
    throw Error(std::string(options.dryRun   ? "--dry-run"
                            : options.resume ? "--resume"
                                             : "--rank-of-launcher") +
                " is for a configuration file: pipe-run CONFIG.yml");
  }
}

int launchProgram(int argc, char** argv) {
  PipeRunOptions options;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool hasDashes = contains(arguments, "--");
  options.command = takeCommand(arguments);
  const std::string config = takeConfig(arguments, pipeRun());
  if (!hasDashes && config.empty() && !namesConfig(arguments)) requireNoName(arguments);
  CommandApp app("pipe-run");
  addPipeRunOptions(app, options, pipeRun());
  if (!config.empty()) requireKnownOptions(app, arguments, config);
  std::vector<char*> own = {argv[0]};  // without CONFIG.yml and what follows "--"
  for (std::string& argument : arguments) own.push_back(argument.data());
  if (const auto code = parseCommandLine(app, static_cast<int>(own.size()), own.data())) {
    return *code;
  }
  if (!config.empty() && !options.config.empty()) {
    throw Error("two configuration files are given: " + config + " and " + options.config);
  }
  if (!config.empty()) options.config = config;
  requireFits(options, hasDashes);
  if (options.isRankOfLauncher) becomeRank(options);
  return options.config.empty() ? runLaunch(options) : runConfigFile(options);
}

Program makeProgram() {
  Program program{.name = "pipe-run",
                  .summary = "runs training programs on several ranks, and rehearses schedules",
                  .describe = describeLaunch,
                  .run = launchProgram,
                  .commands = {{"rehearse", "runs a schedule on emulated devices", describeRehearse,
                                rehearseCommand}},
                  .insteadOf = {},
                  .firstMayBe = "A program comes after --"};
  addCommonCommands(program, pipeRun);
  return program;
}

}  // namespace

const Program& pipeRun() {
  static const Program program = makeProgram();
  return program;
}

}  // namespace pipetrace

int main(int argc, char** argv) { return pipetrace::runProgram(pipetrace::pipeRun(), argc, argv); }
