#include "runtime/launch/rank_process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "trace/error.h"

namespace pipetrace {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw Error(std::string("cannot make a pipe: ") + strerror(errno));
    }
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close(read);
    close(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read = -1;
  int write = -1;
};

std::vector<char*> pointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs between fork and exec: system calls only. Returns only if it fails.
void becomeProgram(char* const* arguments, char* const* environment, int output, pid_t parent,
                   const sigset_t& signals) {
  // The signal comes when the parent dies from now on; it may have died already.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(output, STDERR_FILENO) < 0) {
    return;
  }
  // The launcher ignores these, and that would be inherited.
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  execvpe(arguments[0], arguments, environment);
}

/// The errno of the step that the child could not do; 0 once it runs its program (the pipe closes
/// on exec).
int startError(const Pipe& pipe) {
  int error = 0;
  ssize_t n = 0;
  while ((n = read(pipe.read, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  return n == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

RankProcess::RankProcess(const std::vector<std::string>& command,
                         const std::vector<std::string>& environment, const sigset_t& signals) {
  const std::vector<char*> arguments = pointersTo(command);
  const std::vector<char*> variables = pointersTo(environment);
  Pipe output;
  int error = 0;
  {
    Pipe failure;
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      becomeProgram(arguments.data(), variables.data(), output.write, parent, signals);
      error = errno;
      const ssize_t ignored = ::write(failure.write, &error, sizeof error);
      _exit(ignored < 0 ? 126 : 127);
    }
    if (pid_ < 0) throw Error(std::string("cannot start a process: ") + strerror(errno));
    setpgid(pid_, pid_);  // here as well: whichever comes first
    close(failure.write);
    failure.write = -1;
    error = startError(failure);
  }
  if (error != 0) {
    waitpid(pid_, nullptr, 0);
    throw Error("cannot run " + command[0] + ": " + strerror(error));
  }
  output_ = output.read;
  output.read = -1;
  fcntl(output_, F_SETFL, O_NONBLOCK);
}

RankProcess::~RankProcess() {
  closeOutput();
  if (!hasEnded()) signal(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void RankProcess::closeOutput() {
  if (output_ >= 0) close(output_);
  output_ = -1;
}

bool RankProcess::hasEnded() {
  if (ended_) return true;
  status_ = {};
  // Leaves the child unreaped until the destructor, so that its number still names its group.
  const int rc = waitid(P_PID, static_cast<id_t>(pid_), &status_, WEXITED | WNOHANG | WNOWAIT);
  ended_ = rc == 0 && status_.si_pid == pid_;
  return ended_;
}

bool RankProcess::succeeded() const {
  return status_.si_code == CLD_EXITED && status_.si_status == 0;
}

bool RankProcess::wasKilled() const { return status_.si_code != CLD_EXITED; }

std::string RankProcess::ending() const {
  if (!wasKilled()) return "exited with status " + std::to_string(status_.si_status);
  return "was killed by " + signalText(status_.si_status) +
         (status_.si_code == CLD_DUMPED ? ", core dumped" : "");
}

void RankProcess::signal(int number) const { kill(-pid_, number); }

std::string signalText(int number) {
  const char* const name = sigabbrev_np(number);
  return "signal " + std::to_string(number) +
         (name == nullptr ? std::string() : " (SIG" + std::string(name) + ")");
}

}  // namespace pipetrace
