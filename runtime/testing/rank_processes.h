#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pipetrace::testing {

/// How one of several processes ended.
struct ProcessEnd {
  int exitCode = 0;                    ///< 128 + signal for one that died of a signal
  std::string output;                  ///< standard output and error
  std::chrono::milliseconds after{0};  ///< since the start of them all
};

/// Options of processes that a test starts and waits for.
struct ProcessOptions {
  std::map<std::string, std::string> environment;  ///< added to this process's environment
  std::function<void(const std::vector<int>& pids)> whenStarted;
  std::chrono::seconds limit{60};  ///< those that run longer are killed
};

/// Starts `ranks` processes of `command` and waits for all. Each gets the variables of pipe-run and
/// torchrun (RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT).
/// "{rank}" in an argument becomes the rank.
std::vector<ProcessEnd> runProcesses(int ranks, const std::vector<std::string>& command,
                                     const ProcessOptions& options = {});

/// Starts one process, with none of those variables, and waits for it.
ProcessEnd runProcess(const std::vector<std::string>& command, const ProcessOptions& options = {});

/// A folder of its own under the system's folder for temporary files; removed when destroyed.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace pipetrace::testing
