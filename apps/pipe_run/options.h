#pragma once

#include <string>
#include <vector>

#include "apps/cli/cost_options.h"
#include "apps/cli/fault_options.h"
#include "apps/cli/message_options.h"
#include "apps/cli/schedule_options.h"

namespace pipetrace {

class CommandApp;

/// The options of `pipe-run rehearse`.
struct RehearseOptions : ScheduleOptions {
  int steps = 5;
  MessageOptions messages;
  CostOptions costs;
  FaultOptions faults;
  std::string logDirectory;
  double stepTimeout = 0;  ///< seconds; 0: no limit
  bool strict = false;
};

/// The options of pipe-run without a command.
struct PipeRunOptions {
  int ranks = 0;  ///< 0: one, or as many as `hosts` names
  std::vector<std::string> hosts;
  std::string remoteShell;
  std::string prefix;
  std::string masterAddress;
  double startTimeout = 60;  ///< seconds
  bool isHostAgent = false;
  std::string logDirectory = "logs";
  int masterPort = 0;
  bool recording = false;            ///< PIPETRACE=1 for the ranks
  bool sendRecvOverlap = true;       ///< else PIPETRACE_NO_SEND_RECV_OVERLAP=1 for the ranks
  std::vector<std::string> command;  ///< what follows "--"
};

/// Declares the arguments of pipe-run without a command, except the program after "--". `options`
/// must outlive `app`.
void addPipeRunOptions(CommandApp& app, PipeRunOptions& options);

/// Declares the arguments of `pipe-run rehearse`. `options` must outlive `app`.
void addRehearseOptions(CommandApp& app, RehearseOptions& options);

/// Moves what follows the first "--" out of `arguments`; empty without one.
std::vector<std::string> takeCommand(std::vector<std::string>& arguments);

/// The command line that was meant by arguments that name a program without "--" before it. Empty
/// when they name no program.
std::string withDashes(const std::vector<std::string>& arguments);

}  // namespace pipetrace
