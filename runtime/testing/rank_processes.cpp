#include "runtime/testing/rank_processes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "runtime/starting_ranks/local_port.h"
#include "runtime/testing/run_ranks.h"
#include "trace/error.h"
#include "trace/testing/file_text.h"

namespace pipetrace::testing {

namespace {

using Clock = std::chrono::steady_clock;

std::string withRank(std::string text, int rank) {
  const std::string mark = "{rank}";
  if (const auto at = text.find(mark); at != std::string::npos) {
    text.replace(at, mark.size(), std::to_string(rank));
  }
  return text;
}

using Environment = std::map<std::string, std::string>;

pid_t start(const std::vector<std::string>& command, const Environment& environment,
            const std::string& outputFile) {
  const pid_t pid = fork();
  if (pid < 0) throw Error("fork failed");
  if (pid > 0) return pid;
  const int fd = open(outputFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

ProcessEnd awaitEnd(pid_t pid, Clock::time_point begin, std::chrono::seconds limit) {
  int status = 0;
  bool killed = false;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (!killed && Clock::now() - begin > limit) {
      kill(pid, SIGKILL);
      killed = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ProcessEnd end;
  end.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  end.after = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  return end;
}

// Process i gets environments[i].
std::vector<ProcessEnd> runAll(const std::vector<std::string>& command,
                               const std::vector<Environment>& environments,
                               const ProcessOptions& options) {
  const ScratchFolder folder;
  const Clock::time_point begin = Clock::now();
  std::vector<int> pids;
  for (const Environment& environment : environments) {
    const int rank = static_cast<int>(pids.size());
    std::vector<std::string> mine;
    for (const std::string& argument : command) mine.push_back(withRank(argument, rank));
    pids.push_back(start(mine, environment, folder.path(std::to_string(rank))));
  }
  if (options.whenStarted) options.whenStarted(pids);
  std::vector<ProcessEnd> ends(pids.size());
  runRanks(static_cast<int>(pids.size()), [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    ends[i] = awaitEnd(pids[i], begin, options.limit);
    ends[i].output = test::fileText(folder.path(std::to_string(rank)));
  });
  return ends;
}

}  // namespace

std::vector<ProcessEnd> runProcesses(int ranks, const std::vector<std::string>& command,
                                     const ProcessOptions& options) {
  const LocalPort port;
  const Environment common{{"WORLD_SIZE", std::to_string(ranks)},
                           {"MASTER_ADDR", "127.0.0.1"},
                           {"MASTER_PORT", std::to_string(port.number())}};
  std::vector<Environment> environments;
  for (int rank = 0; rank < ranks; ++rank) {
    Environment mine = options.environment;
    mine.insert(common.begin(), common.end());
    mine.emplace("RANK", std::to_string(rank));
    mine.emplace("LOCAL_RANK", std::to_string(rank));
    environments.push_back(std::move(mine));
  }
  return runAll(command, environments, options);
}

ProcessEnd runProcess(const std::vector<std::string>& command, const ProcessOptions& options) {
  return runAll(command, {options.environment}, options).front();
}

ScratchFolder::ScratchFolder() {
  path_ = (std::filesystem::temp_directory_path() / "pipetrace-test-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) throw Error("cannot make the folder " + path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pipetrace::testing
