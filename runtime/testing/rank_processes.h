#pragma once

#include <chrono>
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

/// Starts `ranks` processes of `command` with what pipe-run and torchrun put into the environment
/// (RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), `extra` on top, and waits for all.
/// "{rank}" in an argument becomes the rank.
/// Processes that run longer than `limit` are killed.
std::vector<ProcessEnd> runProcesses(int ranks, const std::vector<std::string>& command,
                                     const std::map<std::string, std::string>& extra = {},
                                     std::chrono::seconds limit = std::chrono::seconds(60));

/// One process with just `environment` on top of this one's.
ProcessEnd runProcess(const std::vector<std::string>& command,
                      const std::map<std::string, std::string>& environment = {},
                      std::chrono::seconds limit = std::chrono::seconds(60));

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

/// The whole file; "" if it cannot be read.
std::string readWhole(const std::string& path);

}  // namespace pipetrace::testing
