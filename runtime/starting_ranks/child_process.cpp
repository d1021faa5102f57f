#include "runtime/starting_ranks/child_process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "trace/error.h"

namespace pipetrace {
namespace {

/// Why the file cannot be run, as an errno; 0: it can.
int whyNot(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode) || eaccess(file.c_str(), X_OK) != 0) return EACCES;
  return 0;
}

std::vector<char*> pointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs between fork and exec: system calls only.
bool takeStandard(const std::array<int, 3>& standard) {
  // One of them may be 0, 1 or 2 itself, where this process was started with that closed.
  std::array<int, 3> moved{};
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const int from = standard[i] >= 0 ? standard[i] : open("/dev/null", O_RDWR | O_CLOEXEC);
    moved[i] = fcntl(from, F_DUPFD_CLOEXEC, 3);
    if (moved[i] < 0) return false;
  }
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (dup2(moved[i], static_cast<int>(i)) < 0) return false;
  }
  return true;
}

/// The same. Returns only if it fails.
void becomeProgram(const ChildProcess::Settings& settings, char* const* arguments,
                   char* const* environment, pid_t parent) {
  // The signal comes when the parent dies from now on; it may have died already.
  prctl(PR_SET_PDEATHSIG, settings.deathSignal);
  if (getppid() != parent) _exit(127);
  if (settings.ownSession) {
    setsid();
  } else {
    setpgid(0, 0);
  }
  if (!takeStandard(settings.standard)) return;
  // The launcher ignores these, and that would be inherited.
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  sigprocmask(SIG_SETMASK, &settings.signals, nullptr);
  execvpe(arguments[0], arguments, environment);
}

/// The errno of the step that the child could not do; 0 once it runs its program (the pipe closes
/// on exec).
int startError(const Pipe& pipe) {
  int error = 0;
  ssize_t n = 0;
  while ((n = read(pipe.read.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  return n == static_cast<ssize_t>(sizeof error) ? error : 0;
}

constexpr int kMostRounds = 200;  // a process that is stuck in the system cannot be killed
constexpr std::chrono::milliseconds kPause{10};

/// The children that have not ended.
std::vector<pid_t> liveChildren() {
  std::vector<pid_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const pid_t pid = std::atoi(entry->path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream in(entry->path() / "stat");
    std::string stat;
    std::getline(in, stat);
    const std::size_t name = stat.rfind(") ");  // "17 (a name) S 3 …"
    if (name == std::string::npos) continue;
    std::istringstream rest(stat.substr(name + 2));
    char state = 'Z';
    pid_t parent = 0;
    rest >> state >> parent;
    if (parent == getpid() && state != 'Z' && state != 'X') children.push_back(pid);
  }
  return children;
}

}  // namespace

std::string findProgram(const std::string& program) {
  int reason = ENOENT;
  if (program.find('/') != std::string::npos) {
    reason = whyNot(program);
    if (reason == 0) return program;
  } else if (!program.empty()) {
    const char* const variable = std::getenv("PATH");
    std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
    for (bool isLast = false; !isLast;) {
      const std::size_t end = std::min(path.find(':'), path.size());
      isLast = end == path.size();
      // An empty entry stands for the current folder.
      const std::string file = (end == 0 ? "." : std::string(path.substr(0, end))) + "/" + program;
      path.remove_prefix(isLast ? end : end + 1);
      const int why = whyNot(file);
      if (why == 0) return file;
      if (why == EACCES) reason = EACCES;
    }
  }
  throw Error("cannot run " + program + ": " + std::strerror(reason));
}

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(std::string("cannot make a pipe: ") + strerror(errno));
  }
  read = OwnedFd(ends[0]);
  write = OwnedFd(ends[1]);
}

ChildProcess::ChildProcess(const Settings& settings) {
  const std::vector<char*> arguments = pointersTo(settings.command);
  const std::vector<char*> variables = pointersTo(settings.environment);
  Pipe failure;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    becomeProgram(settings, arguments.data(), variables.data(), parent);
    const int error = errno;
    const ssize_t ignored = ::write(failure.write.get(), &error, sizeof error);
    _exit(ignored < 0 ? 126 : 127);
  }
  if (pid_ < 0) throw Error(std::string("cannot start a process: ") + strerror(errno));
  if (!settings.ownSession) setpgid(pid_, pid_);  // here as well: whichever comes first
  failure.write.reset();
  const int error = startError(failure);
  if (error == 0) return;
  waitpid(pid_, nullptr, 0);
  throw Error("cannot run " + settings.command[0] + ": " + strerror(error));
}

ChildProcess::~ChildProcess() {
  if (!hasEnded()) signal(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool ChildProcess::hasEnded() {
  if (ended_) return true;
  status_ = {};
  // Leaves the child unreaped until the destructor, so that its number still names its group.
  const int rc = waitid(P_PID, static_cast<id_t>(pid_), &status_, WEXITED | WNOHANG | WNOWAIT);
  ended_ = rc == 0 && status_.si_pid == pid_;
  return ended_;
}

bool ChildProcess::succeeded() const {
  return status_.si_code == CLD_EXITED && status_.si_status == 0;
}

bool ChildProcess::wasKilled() const { return status_.si_code != CLD_EXITED; }

std::string ChildProcess::ending() const {
  if (!wasKilled()) return "exited with status " + std::to_string(status_.si_status);
  return "was killed by " + signalText(status_.si_status) +
         (status_.si_code == CLD_DUMPED ? ", core dumped" : "");
}

void ChildProcess::signal(int number) const { kill(-pid_, number); }

std::string signalText(int number) {
  const char* const name = sigabbrev_np(number);
  return "signal " + std::to_string(number) +
         (name == nullptr ? std::string() : " (SIG" + std::string(name) + ")");
}

RankProcess::RankProcess(const std::vector<std::string>& command,
                         const std::vector<std::string>& environment, const sigset_t& signals)
    : ChildProcess({.command = command,
                    .environment = environment,
                    .signals = signals,
                    .standard = {-1, write.get(), write.get()}}) {
  write.reset();
  fcntl(output(), F_SETFL, O_NONBLOCK);
}

void adoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void killDescendants() {
  for (int i = 0; i < kMostRounds; ++i) {
    const std::vector<pid_t> children = liveChildren();
    if (children.empty()) return;
    for (const pid_t child : children) kill(child, SIGKILL);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace pipetrace
