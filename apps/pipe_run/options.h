#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pipetrace {

class CommandApp;
struct Program;

/// The options of pipe-run without a command.
struct PipeRunOptions {
  std::optional<int> ranks;  ///< of a program after "--"; none: one, or as many as `hosts` names
  std::string logDirectory;  ///< empty: as usual
  std::vector<std::string> hosts;
  std::string remoteShell;
  std::string prefix;
  std::string masterAddress;
  double startTimeout = 60;  ///< seconds
  bool isHostAgent = false;
  int masterPort = 0;
  int restarts = 0;                  ///< how often all ranks may start again
  bool recording = false;            ///< PIPETRACE=1 for the ranks
  bool sendRecvOverlap = true;       ///< else PIPETRACE_NO_SEND_RECV_OVERLAP=1 for the ranks
  std::vector<std::string> command;  ///< what follows "--"

  // For a configuration file:
  std::string config;                 ///< its path; empty: there is none
  bool dryRun = false;                ///< print what would be done
  std::optional<std::string> resume;  ///< a step, a folder, or kNewestCheckpoint
  bool isRankOfLauncher = false;      ///< this process is one rank, started by another launcher
  std::string master;                 ///< HOST:PORT, with isRankOfLauncher
};

/// PipeRunOptions::resume without a step.
inline constexpr const char* kNewestCheckpoint = "newest";

/// Declares the arguments of pipe-run without a command, except the program after "--". The help
/// lists the commands of `program`. `options` must outlive `app`.
void addPipeRunOptions(CommandApp& app, PipeRunOptions& options, const Program& program);

/// Moves what follows the first "--" out of `arguments`; empty without one.
std::vector<std::string> takeCommand(std::vector<std::string>& arguments);

/// Moves the configuration file out of `arguments`: the first one that ends with .yml or .yaml and
/// is no value of another option. Empty without one.
std::string takeConfig(std::vector<std::string>& arguments, const Program& program);

/// The command line that was meant by arguments that name a program without "--" before it. Empty
/// when they name no program.
std::string withDashes(const std::vector<std::string>& arguments, const Program& program);

}  // namespace pipetrace
