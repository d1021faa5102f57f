#include "apps/pipe_run/options.h"

#include <algorithm>
#include <string_view>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/common_commands.h"
#include "apps/cli/program.h"
#include "runtime/starting_ranks/hosts/host_list.h"
#include "trace/text/shell_word.h"

namespace pipetrace {
namespace {

constexpr int kMostRanks = 1024;
constexpr int kMostRestarts = 1000;

bool isConfigFile(std::string_view argument) {
  return argument.ends_with(".yml") || argument.ends_with(".yaml");
}

/// How many arguments an option of pipe-run is with its value, at `arguments[0]`.
std::ptrdiff_t lengthOf(const CLI::Option& option, const std::string& argument) {
  const bool takesNext =
      option.get_items_expected_min() > 0 && argument.find('=') == std::string::npos;
  return takesNext ? 2 : 1;
}

void addHostOptions(CommandApp& app, PipeRunOptions& options) {
  app.add_option("--hosts", options.hosts,
                 "Where each rank runs, with the number of its GPU there: a:0,a:1,b:0. Other hosts "
                 "are reached by --remote-shell, and need this program at the same place")
      ->type_name("HOST[:GPU],...")
      ->delimiter(',');
  app.add_option("--remote-shell", options.remoteShell,
                 std::string("How a command is run on another host: these words of /bin/sh, then "
                             "the host, then the command as one word (default: ") +
                     kRemoteShell + ")")
      ->type_name("COMMAND");
  app.add_option("--prefix", options.prefix,
                 "Stands before pipe-run in the commands for other hosts, as for a container: "
                 "\"singularity exec image.sif\". Then pipe-run is looked up in PATH there")
      ->type_name("COMMAND");
  app.add_option("--master-addr", options.masterAddress,
                 "Address of rank 0's host for all ranks (default: one that all hosts reach)")
      ->type_name("ADDRESS");
  app.add_option("--start-timeout", options.startTimeout,
                 "How long another host may take to answer (default: 60)")
      ->type_name("SECONDS")
      ->check(range(0.1, 1e6));
  app.add_flag("--host-agent", options.isHostAgent,
               "Start ranks by order of a pipe-run on another host, which starts this by itself");
}

}  // namespace

static void addConfigOptions(CommandApp& app, PipeRunOptions& options) {
  constexpr const char* kGroup = "With CONFIG.yml";
  app.add_option("--config_file,--config-file", options.config, "CONFIG.yml, under any name")
      ->type_name("FILE")
      ->check(notEmpty())
      ->group(kGroup);
  app.add_flag("--dry-run,--quiet", options.dryRun,
               "Check all of it, also by running the program with --dry-run. Print the maps, the "
               "ranks, their commands and the plan, and start no rank; the second is the drivers' "
               "word")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--resume", [&options](const std::string& from) { options.resume = from; },
         "Go on from the newest checkpoint, from that of a step, or from the newest one of a "
         "folder")
      ->type_name("[STEP|DIR]")
      ->expected(0, 1)
      ->default_str(kNewestCheckpoint)
      ->group(kGroup);
  auto* const rank =
      app.add_flag("--rank-of-launcher", options.isRankOfLauncher,
                   "Be the rank for which srun, mpirun or torchrun has started this process");
  rank->group(kGroup);
  app.add_option("--master", options.master,
                 "Where the ranks meet: the host of rank 0 and a port that is free there. mpirun "
                 "needs it; srun says it itself")
      ->type_name("HOST:PORT")
      ->check(notEmpty())
      ->needs(rank)
      ->group(kGroup);
}

void addPipeRunOptions(CommandApp& app, PipeRunOptions& options, const Program& program) {
  app.description(
      "Runs a training program as several ranks, on this machine or on several: one that\n"
      "comes after --, or the one that a configuration file names (CONFIG.yml), with the keys of "
      "PipeDream's and VPipe's\n"
      "drivers and the program's own options.\n\n"
      "Each rank finds RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT ... as torchrun sets them, and\n"
      "PIPETRACE_LOG_DIR.\n\n"
      "Other commands (each has its own --help):\n" +
      program.commandList());
  app.describeEnd(
      {{"0", "done"}, {"2", "could not, or a rank failed"}, {"128 + n", "stopped by signal n"}},
      {"pipe-run --ranks 4 --log-dir logs -- ./train --schedule 1F1B",
       "pipe-run --hosts a:0,a:1,b:0,b:1 --log-dir logs -- ./train --schedule 1F1B",
       "pipe-run CONFIG.yml --dry-run"});
  app.addProgram("The program, which is looked up in PATH, and its arguments");
  addVersion(app);
  app.add_option("--ranks", options.ranks, "Processes to start (default: 1)")
      ->type_name("N")
      ->check(range(1, kMostRanks));
  addHostOptions(app, options);
  app.add_option(
         "--log-dir", options.logDirectory,
         "Where each rank's output and job log go, as workerlog.<rank>; those of earlier "
         "runs are removed (default: logs; of CONFIG.yml a new folder in its log_directory)")
      ->type_name("DIR")
      ->check(notEmpty("the folder's name is empty"));
  app.add_flag(
      "--visualize-pipeline,--visualize_pipline", options.recording,
      "Switch the recording of jobs on in programs that link the profiler (PIPETRACE=1); the "
      "second is PaddlePaddle's spelling");
  app.add_flag_callback(
      "--no-send-recv-overlap", [&options] { options.sendRecvOverlap = false; },
      "Let ranks receive on the thread that computes, and wait there for their sends, in programs "
      "that have this option or read PIPETRACE_NO_SEND_RECV_OVERLAP=1 as the samples do");
  app.add_option("--master-port", options.masterPort,
                 "Port of the ranks' rendezvous on rank 0's host (default: a free one)")
      ->type_name("P")
      ->check(range(1, 65535));
  app.add_option(
         "--restarts", options.restarts,
         "After a rank has failed, start all ranks again, at most so often; programs on the "
         "engine then go on from their newest checkpoint (default: 0)")
      ->type_name("N")
      ->check(range(0, kMostRestarts));
  addConfigOptions(app, options);
}

std::vector<std::string> takeCommand(std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return {};
  std::vector<std::string> command(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  return command;
}

std::string takeConfig(std::vector<std::string>& arguments, const Program& program) {
  PipeRunOptions unused;
  CommandApp app("pipe-run");
  addPipeRunOptions(app, unused, program);
  for (auto argument = arguments.begin(); argument < arguments.end();) {
    if (!argument->starts_with("-")) {
      if (isConfigFile(*argument)) {
        std::string file = *argument;
        arguments.erase(argument);
        return file;
      }
      ++argument;
      continue;
    }
    const CLI::Option* const option =
        app.get_option_no_throw(argument->substr(0, argument->find('=')));
    argument +=
        option == nullptr ? 1 : std::min(lengthOf(*option, *argument), arguments.end() - argument);
  }
  return "";
}

std::string withDashes(const std::vector<std::string>& arguments, const Program& program) {
  PipeRunOptions unused;
  CommandApp app("pipe-run");
  addPipeRunOptions(app, unused, program);
  auto first = arguments.begin();
  while (first != arguments.end() && first->starts_with("-")) {
    const CLI::Option* const option = app.get_option_no_throw(first->substr(0, first->find('=')));
    const bool onlyPrints =
        option != nullptr && (option->check_name("--help") || option->check_name("--version"));
    if (option == nullptr || onlyPrints) return "";
    first += std::min(lengthOf(*option, *first), arguments.end() - first);
  }
  if (first == arguments.end() || program.find(*first) != nullptr) return "";
  std::string line = "pipe-run";
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    line += (argument == first ? " -- " : " ") + shellWord(*argument);
  }
  return line;
}

}  // namespace pipetrace
