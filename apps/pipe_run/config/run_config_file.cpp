#include "apps/pipe_run/config/run_config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/print.h"
#include "apps/pipe_run/config/config_ranks.h"
#include "apps/pipe_run/config/configured_program.h"
#include "apps/pipe_run/config/run_folder.h"
#include "apps/pipe_run/launch.h"
#include "profiler/clock/wall_clock.h"
#include "runtime/engine/config/config_file.h"
#include "runtime/engine/config/config_plan.h"
#include "runtime/engine/config/run_config.h"
#include "runtime/starting_ranks/launchers/launched_place.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/starting_ranks/rank_process.h"
#include "runtime/starting_ranks/signal_inbox.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/log/log_format.h"
#include "trace/text/shell_word.h"

namespace pipetrace {
namespace {

/// How a program ended that was asked whether it takes a configuration file.
struct ProgramCheck {
  int signal = 0;      ///< that came to this process meanwhile; the program was ended then
  std::string output;  ///< of both kinds
};

constexpr std::size_t kMostOutput = 4 << 20;
constexpr Nanoseconds kKillAfter = 2 * kNsPerSecond;
constexpr int kPollMs = 200;

/// This process's, with the place of rank 0 in place of its own.
std::vector<std::string> environmentOfFirstRank(int ranks) {
  constexpr std::array<std::string_view, 6> kPlace = {
      "RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "LOCAL_WORLD_SIZE=", "MASTER_ADDR=", "MASTER_PORT="};
  const std::string all = std::to_string(ranks);
  std::vector<std::string> result = {"RANK=0",
                                     "LOCAL_RANK=0",
                                     "WORLD_SIZE=" + all,
                                     "LOCAL_WORLD_SIZE=" + all,
                                     "MASTER_ADDR=127.0.0.1",
                                     "MASTER_PORT=1"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool isPlace = text.starts_with("TORCHELASTIC_") ||
                         std::any_of(kPlace.begin(), kPlace.end(),
                                     [&](std::string_view name) { return text.starts_with(name); });
    if (!isPlace) result.emplace_back(text);
  }
  return result;
}

class CheckedProgram {
 public:
  CheckedProgram(const std::vector<std::string>& command, int ranks)
      : process_(command, environmentOfFirstRank(ranks), inbox_.maskBefore()) {}

  int signal() const { return signal_; }
  const std::string& output() const { return output_; }
  bool succeeded() const { return process_.succeeded(); }
  std::string ending() const { return process_.ending(); }

  void wait() {
    while (!process_.hasEnded()) {
      std::array<pollfd, 2> fds = {pollfd{inbox_.fd(), POLLIN, 0},
                                   pollfd{process_.output(), POLLIN, 0}};
      poll(fds.data(), fds.size(), kPollMs);
      takeSignals();
      readSome();
    }
    while (readSome()) {
    }
    process_.signal(SIGKILL);  // what it has started
  }

 private:
  void takeSignals() {
    for (int number = inbox_.take(); number != 0; number = inbox_.take()) {
      if (number != SIGINT && number != SIGTERM && number != SIGHUP) continue;
      process_.signal(signal_ == 0 ? SIGTERM : SIGKILL);
      if (signal_ == 0) killAt_ = monotonicNow() + kKillAfter;
      signal_ = signal_ == 0 ? number : signal_;
    }
    if (monotonicNow() >= killAt_) process_.signal(SIGKILL);
  }

  /// Whether there may be more.
  bool readSome() {
    if (process_.output() < 0) return false;
    std::array<char, 64 * 1024> buffer;
    const ssize_t n = read(process_.output(), buffer.data(), buffer.size());
    if (n < 0) return errno == EINTR;
    if (n == 0) {
      process_.closeOutput();
      return false;
    }
    const std::size_t room = kMostOutput - std::min(kMostOutput, output_.size());
    output_.append(buffer.data(), std::min(room, static_cast<std::size_t>(n)));
    return room > 0;
  }

  SignalInbox inbox_;
  RankProcess process_;
  std::string output_;
  int signal_ = 0;
  Nanoseconds killAt_ = kNsMax;
};

/// The lines of a text that begin so.
std::vector<std::string> linesWith(const std::string& start, const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) found.push_back(line.substr(start.size()));
  }
  return found;
}

/// Runs `command` with --dry-run and waits for its end. In its environment it is rank 0 of `ranks`,
/// so that it checks what ranks check. It has nothing to connect to. Throws Error with its last
/// words if it fails.
ProgramCheck checkProgram(const std::vector<std::string>& command, int ranks) {
  std::vector<std::string> dry = command;
  dry.emplace_back("--dry-run");
  CheckedProgram program(dry, ranks);
  program.wait();
  if (program.signal() != 0 || program.succeeded()) return {program.signal(), program.output()};
  std::string why = program.output();
  while (why.ends_with('\n')) why.pop_back();
  const std::vector<std::string> errors = linesWith("error: ", why);
  if (!errors.empty()) throw Error(errors.back());
  throw Error(command.front() + " --dry-run " + program.ending() +
              (why.empty() ? "; it printed nothing" : ":\n" + why));
}

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

std::string variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

/// All ranks find the same folder without asking each other, so it has the launcher's name of the
/// run in place of the time.
std::string folderOf(const RunConfig& config, const PipeRunOptions& options,
                     const LaunchedPlace& place) {
  if (!options.logDirectory.empty()) {
    return std::filesystem::absolute(options.logDirectory).string();
  }
  if (const std::string given = variable("PIPETRACE_LOG_DIR"); !given.empty()) return given;
  return place.job.empty() ? config.logDirectory : config.logDirectory + "/" + place.job;
}

void setPlace(const LaunchedPlace& place, const PipeRunOptions& options,
              const std::string& folder) {
  set("RANK", std::to_string(place.rank));
  set("WORLD_SIZE", std::to_string(place.ranks));
  set("LOCAL_RANK", std::to_string(place.localRank));
  set("LOCAL_WORLD_SIZE", std::to_string(place.localRanks));
  set("MASTER_ADDR", place.masterAddress);
  set("MASTER_PORT", std::to_string(place.masterPort));
  set("PIPETRACE_LOG_DIR", folder);
  if (place.restart > 0) set("TORCHELASTIC_RESTART_COUNT", std::to_string(place.restart));
  if (options.recording) set("PIPETRACE", "1");
  if (!options.sendRecvOverlap) set("PIPETRACE_NO_SEND_RECV_OVERLAP", "1");
  // Each rank would start a thread per core, as if it had the machine to itself.
  if (place.ranks > 1 && variable("OMP_NUM_THREADS").empty()) set("OMP_NUM_THREADS", "1");
}

/// An earlier run's log of this rank, unless the same run goes on.
void removeOwnLog(const std::string& folder, const LaunchedPlace& place) {
  if (place.restart > 0) return;
  std::error_code ignored;
  std::filesystem::remove(
      folder + "/" + std::string(log_format::kFilePrefix) + std::to_string(place.rank), ignored);
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

void becomeRank(const PipeRunOptions& options) {
  const RunConfig config = readRunConfig(options.config);
  std::vector<std::string> command = commandOf(config, options);
  const int ranks = planOf(config)->numRanks();
  const LaunchedPlace place = launchedPlace(variable, ranks, options.master);
  const std::string folder = folderOf(config, options, place);
  makeRunFolderAt(folder);
  removeOwnLog(folder, place);
  if (place.rank == 0) {
    std::string line = place.launcher + ", " + std::to_string(place.ranks) + " ranks:";
    for (const std::string& word : command) line += " " + shellWord(word);
    writeRunFiles(folder, config.file, {line});
  }
  setPlace(place, options, folder);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  throw Error("cannot run " + command[0] + ": " + std::strerror(errno));
}

}  // namespace pipetrace
