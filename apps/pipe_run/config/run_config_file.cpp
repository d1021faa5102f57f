#include "apps/pipe_run/config/run_config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "apps/cli/print.h"
#include "apps/pipe_run/config/config_ranks.h"
#include "apps/pipe_run/config/configured_program.h"
#include "apps/pipe_run/config/program_check.h"
#include "apps/pipe_run/config/run_folder.h"
#include "apps/pipe_run/launch.h"
#include "apps/pipe_run/restarts.h"
#include "runtime/engine/config/config_file.h"
#include "runtime/engine/config/config_plan.h"
#include "runtime/engine/config/run_config.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/starting_ranks/rank_process.h"
#include "trace/error.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

/// A run that was checked as far as pipe-run can, and what it starts.
struct CheckedRun {
  RunConfig config;
  CheckedPlan plan;
  std::vector<HostOfRun> hosts;
  std::vector<std::string> command;
  LaunchOptions launch;  ///< all but the log folder and the restart

  std::vector<std::string> commandTexts() const {
    std::vector<std::string> texts;
    for (const ConfiguredRank& rank : ranksOf(hosts)) texts.push_back(commandText(rank, command));
    return texts;
  }
};

CheckedRun checkedRun(const PipeRunOptions& options) {
  RunConfig config = readRunConfig(options.config);
  std::vector<std::string> command = commandOf(config, options);
  CheckedPlan plan = planOf(config);
  std::vector<HostOfRun> hosts = hostsOf(config, plan->numRanks());
  LaunchOptions launch = launchOptionsOf(options);
  launch.ranks = plan->numRanks();
  launch.command = command;
  launch.hosts = hostOptionsOf(config, hosts, launch.hosts);
  return {std::move(config), std::move(plan), std::move(hosts), std::move(command),
          std::move(launch)};
}

/// The port of the command line, else of the file; 0: a free one.
int portOf(const CheckedRun& run, const PipeRunOptions& options) {
  const int port = options.masterPort != 0 ? options.masterPort : run.config.masterPort;
  if (port == 0 || !run.hosts[0].isHere) return port;  // of rank 0's host
  try {
    const LocalPort probe(port);
    return port;
  } catch (const Error& error) {
    if (options.masterPort != 0) throw;
    throw Error(placeIn(run.config.file, run.config.masterPortLine) +
                ": master_port: " + error.what());
  }
}

std::string mapsText(const CheckedRun& run) {
  const Plan& plan = *run.plan;
  const auto& maps = run.config.maps;
  std::string text = maps ? fmt::format("maps of {}:\n", run.config.mapsFile) : "maps:\n";
  for (int stage = 0; stage < plan.numStages; ++stage) {
    text += fmt::format("  stage {}: ranks {}", stage, fmt::join(plan.ranksOf(stage), ", "));
    if (maps) {
      std::vector<int> modules;
      const std::vector<int>& stages = maps->moduleToStage;
      for (std::size_t module = 0; module < stages.size(); ++module) {
        if (stages[module] == stage) modules.push_back(static_cast<int>(module));
      }
      text += fmt::format("; modules {}", fmt::join(modules, ", "));
      if (!maps->stageDepths.empty()) {
        text += fmt::format("; depth {}", maps->stageDepths.at(static_cast<std::size_t>(stage)));
      }
    }
    text += "\n";
  }
  return text;
}

std::string ranksText(const CheckedRun& run) {
  std::string text = "ranks:\n";
  for (const ConfiguredRank& rank : ranksOf(run.hosts)) {
    text += fmt::format("  rank {} on {}{}\n", rank.place.rank,
                        rank.host.empty() ? "this host" : rank.host,
                        rank.gpu < 0 ? "" : fmt::format(", GPU {}", rank.gpu));
  }
  return text;
}

/// The lines of --dry-run before the program's own.
std::string dryText(const CheckedRun& run, const PipeRunOptions& options) {
  std::string text = mapsText(run) + ranksText(run) + "commands:\n";
  for (const std::string& command : run.commandTexts()) text += "  " + command + "\n";
  const std::vector<std::string> agents = agentTexts(run.hosts, run.launch.hosts);
  if (!agents.empty()) text += "agents of other hosts:\n";
  for (const std::string& agent : agents) text += "  " + agent + "\n";
  text += "logs: " +
          (options.logDirectory.empty() ? run.config.logDirectory + "/TIMESTAMP"
                                        : options.logDirectory) +
          "\n";
  if (!run.config.container.empty() && agents.size() < run.hosts.size()) {
    text += "container " + run.config.container +
            " is not entered for ranks on this host: they run as pipe-run does\n";
  }
  return text;
}

int launchChecked(const CheckedRun& run, const PipeRunOptions& options) {
  LaunchOptions launch = run.launch;
  launch.masterPort = portOf(run, options);
  launch.logDirectory = options.logDirectory;
  if (options.logDirectory.empty()) {
    launch.logDirectory = makeRunFolder(run.config.logDirectory);
  } else {
    makeRunFolderAt(options.logDirectory);
  }
  writeRunFiles(launch.logDirectory, run.config.file, run.commandTexts());
  printError(fmt::format("pipe-run: logs go to {}", launch.logDirectory));
  return launchAgain(options.restarts, [&](int restart) {
    launch.restart = restart;
    return pipetrace::launch(launch);
  });
}

}  // namespace

int runConfigFile(const PipeRunOptions& options) {
  const CheckedRun run = checkedRun(options);
  portOf(run, options);
  requireRunFolder(options.logDirectory.empty() ? run.config.logDirectory : options.logDirectory);
  const ProgramCheck check = checkProgram(run.command, run.plan->numRanks());
  if (check.signal != 0) {
    printError(fmt::format("pipe-run: stopped by {}", signalText(check.signal)));
    return 128 + check.signal;
  }
  if (options.dryRun) {
    printText(dryText(run, options) + check.output);
    return 0;
  }
  for (const std::string& note : linesWith("note: ", check.output)) {
    printError(fmt::format("pipe-run: note: {}", note));
  }
  return launchChecked(run, options);
}

}  // namespace pipetrace
