#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// The file that would run as `program`: itself if it holds a '/', else the first executable one of
/// that name in PATH. Throws Error, as "cannot run … : why", if there is none.
std::string findProgram(const std::string& program);

/// A pipe whose ends are closed in programs that this process starts.
struct Pipe {
  /// Throws Error.
  Pipe();

  OwnedFd read;
  OwnedFd write;
};

/// A child process that leads a process group of its own. Destroyed before it has ended, it is
/// killed with its whole group.
class ChildProcess {
 public:
  struct Settings {
    std::vector<std::string> command{};      ///< program (looked up in PATH) and its arguments
    std::vector<std::string> environment{};  ///< "NAME=value" each
    sigset_t signals{};                      ///< the mask that it starts with
    std::array<int, 3> standard{-1, -1,
                                -1};  ///< its standard input, output and error; -1: /dev/null
    int deathSignal = SIGKILL;        ///< that it gets when the thread that started it ends
    bool ownSession = false;          ///< it has no terminal, so it can ask for nothing there
  };

  /// Throws Error if the program cannot be run.
  explicit ChildProcess(const Settings& settings);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

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
  bool ended_ = false;
  siginfo_t status_{};
};

/// "signal 9 (SIGKILL)".
std::string signalText(int number);

/// A child process with its standard output and error in one pipe, and /dev/null as its input.
class RankProcess : private Pipe, public ChildProcess {
 public:
  /// Starts it. `environment` holds "NAME=value" texts; `signals` is the mask it starts with.
  /// Throws Error if the program cannot be run.
  RankProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment,
              const sigset_t& signals);

  /// The pipe to read its output from, non-blocking; -1 after closeOutput().
  int output() const { return read.get(); }
  void closeOutput() { read.reset(); }
};

/// Has processes that lose their parent become children of this one, if it started their parent or
/// its parent and so on.
void adoptOrphans();

/// Kills all children of this process, and theirs as they become children of it: those, too, that
/// have left their process group. Needs adoptOrphans() before they were started.
void killDescendants();

}  // namespace pipetrace
