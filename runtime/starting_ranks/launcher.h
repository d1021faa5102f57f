#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/starting_ranks/hosts/host_list.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct LaunchOptions {
  int ranks = 1;                     ///< where `hosts` names none
  HostOptions hosts;                 ///< of several machines; `ranks` is their number then
  std::vector<std::string> command;  ///< program (looked up in PATH) and its arguments
  std::string logDirectory = "logs";
  int masterPort = 0;      ///< of the ranks' rendezvous; 0: a free one
  bool recording = false;  ///< the ranks get PIPETRACE=1
  /// How often all ranks were started before. They get it as TORCHELASTIC_RESTART_COUNT, as from
  /// torchrun, and from the first time on their logs are appended to those that are there.
  int restart = 0;
  /// How long the other ranks have to end after SIGTERM, before SIGKILL, once one has failed.
  Nanoseconds killDelay = 5 * kNsPerSecond;
  /// After a run that failed or was stopped, all processes are killed that its ranks have started,
  /// also those that have left the rank's process group. For a program that has no other children:
  /// it becomes the one that adopts what they leave.
  bool endsDescendants = false;
  int display = STDOUT_FILENO;  ///< the ranks' output is shown there; -1: nowhere
  /// Where the caller prints LaunchResult::reason; -1: somewhere else than `display`. If both lead
  /// to one place, the reason does not repeat the last lines of a rank that stand just above it.
  int reasonDisplay = -1;
};

struct LaunchResult {
  /// 0: all ranks exited with 0. 2: a rank failed. 128 + n: stopped by signal n.
  int exitCode = 0;
  std::string reason;                 ///< why it is not 0, for people; may have several lines
  std::vector<std::string> warnings;  ///< what went wrong besides: a log that is not whole
};

/// Runs a program as `ranks` processes on this host, or on the hosts that are given, and waits for
/// all of them.
///
/// Each gets RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT as from
/// torchrun, and PIPETRACE_LOG_DIR (absolute). OMP_NUM_THREADS is 1 unless it is set or there is
/// one rank on its host. Standard input is /dev/null. Standard output and error are appended to
/// logDirectory/workerlog.<rank>, whole lines at a time, and shown on `display` with "[rank 2] "
/// before each line. The logs of earlier runs in the folder are removed, once the program is known
/// to be runnable.
///
/// Every rank is a process group of its own, so a Ctrl-C reaches the launcher only. It passes
/// SIGINT, SIGTERM and SIGHUP on to all ranks, once; a second one kills them. When a rank exits
/// with another status than 0 or dies of a signal, the others get SIGTERM, and SIGKILL after
/// killDelay. If the launcher itself dies, the kernel kills the ranks.
///
/// On each other host an agent does all this for the ranks there (hosts/agent.h); their logs come
/// to logDirectory as they grow. Before any rank starts, and before old logs are removed, all
/// agents must have said that they can run the program. MASTER_ADDR is an address of rank 0's host
/// that all hosts reach. When a rank fails or a host is lost, ranks have some seconds to say
/// themselves what happened, before they get SIGTERM.
///
/// Call it from a thread that outlives the run. Other threads of the program must have the three
/// signals and SIGCHLD blocked. Throws Error if the ranks cannot be started.
LaunchResult launch(const LaunchOptions& options);

}  // namespace pipetrace
