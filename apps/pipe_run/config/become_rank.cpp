#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "apps/pipe_run/config/config_ranks.h"
#include "apps/pipe_run/config/configured_program.h"
#include "apps/pipe_run/config/run_config_file.h"
#include "apps/pipe_run/config/run_folder.h"
#include "runtime/engine/config/config_plan.h"
#include "runtime/starting_ranks/launchers/launched_place.h"
#include "trace/error.h"
#include "trace/log/log_format.h"
#include "trace/text/shell_word.h"

namespace pipetrace {
namespace {

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
