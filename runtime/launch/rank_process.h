#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace pipetrace {

/// A child process that leads a process group of its own, with its standard output and error in
/// one pipe. Destroyed before it has ended, it is killed with its whole group.
class RankProcess {
 public:
  /// Starts it. `environment` holds "NAME=value" texts; `signals` is the mask it starts with.
  /// Throws Error if the program cannot be run.
  RankProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment,
              const sigset_t& signals);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// The pipe to read its output from, non-blocking; -1 after closeOutput().
  int output() const { return output_; }
  void closeOutput();

  /// Whether the process has ended; asks the system.
  bool hasEnded();
  /// Once it has ended: exited with 0.
  bool succeeded() const;
  /// Once it has ended: killed by a signal.
  bool wasKilled() const;
  /// Once it has ended: "exited with status 3", "was killed by signal 9 (SIGKILL)".
  std::string ending() const;

  /// Sends the signal to the process and to all that it started in its group, even after it has
  /// ended.
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  siginfo_t status_{};
};

/// "signal 9 (SIGKILL)".
std::string signalText(int number);

}  // namespace pipetrace
