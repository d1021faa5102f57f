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
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/print.h"
#include "apps/pipe_run/config/config_ranks.h"
#include "apps/pipe_run/launch.h"
#include "apps/pipe_run/options.h"
#include "profiler/clock/wall_clock.h"
#include "runtime/engine/config/config_file.h"
#include "runtime/engine/config/config_plan.h"
#include "runtime/engine/config/run_config.h"
#include "runtime/starting_ranks/child_process.h"
#include "runtime/starting_ranks/launchers/launched_place.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/starting_ranks/signal_inbox.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/log/log_format.h"
#include "trace/text/shell_word.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &local);
  return text.data();
}

[[noreturn]] void failedToMake(const std::string& folder, const std::error_code& error) {
  throw Error("cannot make the folder " + folder + ": " + error.message());
}

/// Makes the folder, unless it is there. Throws Error.
void makeRunFolderAt(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) failedToMake(folder, error);
}

/// Throws Error if a folder of that name is not there and could not be made.
void requireRunFolder(const std::string& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error))
    failedToMake(folder, std::make_error_code(std::errc::not_a_directory));
  if (access(there.c_str(), W_OK | X_OK) != 0) {
    throw Error("cannot make a folder in " + there.string() + ": " + std::strerror(errno));
  }
}

/// Makes the folder of a new run, LOGS/2026-11-27T03:10:48, or with "-2" behind it where there is
/// one of that second. Throws Error.
std::string makeRunFolder(const std::string& logs) {
  makeRunFolderAt(logs);
  const std::string first = logs + "/" + timestamp();
  std::string folder = first;
  std::error_code error;
  for (int i = 2; !fs::create_directory(folder, error); ++i) {
    if (error) failedToMake(folder, error);
    folder = first + "-" + std::to_string(i);
  }
  return folder;
}

/// Puts a copy of the file `config`, under its own name, and command_history.log with a line for
/// each command into the folder. Throws Error.
void writeRunFiles(const std::string& folder, const std::string& config,
                   const std::vector<std::string>& commands) {
  std::ifstream in(config, std::ios::binary);
  if (!in) throw Error("cannot read " + config + " again");
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  writeWholeFile(folder + "/" + fs::path(config).filename().string(), bytes);
  std::string history;
  for (const std::string& command : commands) history += command + "\n";
  writeWholeFile(folder + "/command_history.log", history);
}

constexpr std::string_view kSamplePrefix = "sample-";

bool isProgram(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

/// The names without their prefix.
std::vector<std::string> samplesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kSamplePrefix) && isProgram(entry->path())) {
      names.push_back(name.substr(kSamplePrefix.size()));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// "char-transformer" for models/char_transformer/.
std::string sampleName(const std::string& directory) {
  const fs::path path = fs::path(directory).lexically_normal();
  std::string name = path.filename().string();
  if (name.empty()) name = path.parent_path().filename();
  std::replace(name.begin(), name.end(), '_', '-');
  return name.starts_with(kSamplePrefix) ? name.substr(kSamplePrefix.size()) : name;
}

/// Empty: there is none of that name.
std::string sampleOf(const std::string& name, const std::string& samples) {
  const fs::path sample = fs::path(samples) / (std::string(kSamplePrefix) + name);
  return isProgram(sample) ? sample.string() : "";
}

/// The program of a configuration file: `directory` itself if it is an executable file, from the
/// working folder or the file's. Else the sample of that name (`bert`, or the last part of
/// `models/bert`), sample-bert, in `samples`. Where `directory` is but a folder, `model_type` names
/// the sample. Throws Error as "FILE:LINE: …" with the samples that
/// there are.
std::string programOf(const RunConfig& config, const std::string& samples) {
  const std::string place = config.directoryLine > 0
                                ? placeIn(config.file, config.directoryLine) + ": directory: "
                                : config.file + ": ";
  if (config.directory.empty()) {
    throw Error(place + "it names no program; add directory, a path or one of the samples " +
                listed(samplesIn(samples)));
  }
  const fs::path fileFolder = fs::path(config.file).parent_path();
  for (const fs::path& path : {fs::absolute(config.directory), fileFolder / config.directory}) {
    if (isProgram(path)) return path.lexically_normal().string();
  }
  const std::string name = sampleName(config.directory);
  if (const std::string sample = sampleOf(name, samples); !sample.empty()) return sample;
  // A folder of the drivers' with a model whose type is a sample.
  if (!config.folder.empty() && !config.modelType.empty()) {
    const std::string sample = sampleOf(sampleName(config.modelType), samples);
    if (!sample.empty()) return sample;
  }
  const std::vector<std::string> names = samplesIn(samples);
  const std::string meant = nearestName(name, names);
  throw Error(place + shownText(config.directory) +
              " is neither a program nor a sample beside pipe-run; " +
              (meant.empty() ? "the samples are " + listed(names) : "did you mean " + meant + "?"));
}

/// The folder of this program, where its samples are.
std::string ownFolder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

constexpr std::string_view kStepPrefix = "step_";  // of a checkpoint's folder

bool isStep(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// The command line of a configured program: PROGRAM --config FILE, and what --resume adds. A
/// number goes on from that step, a folder from the newest checkpoint there, and the folder of a
/// step, DIR/step_4, from that one. Throws Error as programOf() does.
std::vector<std::string> commandOf(const RunConfig& config, const PipeRunOptions& options) {
  std::vector<std::string> command = {programOf(config, ownFolder()), "--config", config.file};
  if (!options.resume) return command;
  std::string from = *options.resume;
  if (!from.empty() && !isStep(from) && from != kNewestCheckpoint) {
    std::filesystem::path path = std::filesystem::absolute(from).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    const std::string last = path.filename().string();
    const bool isOfStep = last.starts_with(kStepPrefix) && isStep(last.substr(kStepPrefix.size()));
    from = isOfStep ? last.substr(kStepPrefix.size()) : "";
    command.push_back("--checkpoint=" + (isOfStep ? path.parent_path() : path).string());
  }
  command.push_back(isStep(from) ? "--resume=" + from : "--resume");
  return command;
}

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
