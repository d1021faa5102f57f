#include "parser/ring/recorder_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <limits>

#include "trace/files/file_locks.h"

namespace pipetrace {
namespace {

/// Its parent has not asked for its exit code yet; its files are closed.
bool isZombie(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(in, text);
  const std::size_t name = text.rfind(") ");  // "17 (a name) Z …"
  return name != std::string::npos && name + 2 < text.size() &&
         (text[name + 2] == 'Z' || text[name + 2] == 'X');
}

bool isGone(std::int64_t process) {
  if (process <= 0 || process > std::numeric_limits<pid_t>::max()) return false;
  const auto pid = static_cast<pid_t>(process);
  return (kill(pid, 0) != 0 && errno == ESRCH) || isZombie(pid);
}

/// Whether the process has a lock on the log of the kind that readers have for a moment, too: then
/// it is a recorder that gives way to others of its process.
bool holdsShared(const std::string& logPath, std::int64_t process) {
  if (process <= 0) return false;
  const int fd = open(logPath.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const std::vector<FileLock> locks = locksOn(fd);
  close(fd);
  return std::any_of(locks.begin(), locks.end(), [&](const FileLock& lock) {
    return lock.isShared && lock.process == process;
  });
}

}  // namespace

std::string thisHost() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

RecorderLock::State RecorderLock::of(const std::string& logPath) {
  const int fd = open(logPath.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return State::kUnknown;
  State state = State::kUnknown;
  if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
    state = State::kFree;
  } else if (errno == EWOULDBLOCK) {
    state = State::kHeld;
  }
  close(fd);  // gives it back
  return state;
}

RecorderState recorderState(const std::string& logPath, const std::string& host,
                            std::int64_t process) {
  switch (RecorderLock::of(logPath)) {
    case RecorderLock::State::kHeld: return RecorderState::kRecords;
    case RecorderLock::State::kFree:
      if (holdsShared(logPath, process)) return RecorderState::kRecords;
      return !host.empty() && host == thisHost() && isGone(process) ? RecorderState::kEnded
                                                                    : RecorderState::kUnknown;
    case RecorderLock::State::kUnknown: break;
  }
  return RecorderState::kUnknown;
}

}  // namespace pipetrace
