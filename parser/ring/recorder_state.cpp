#include "parser/ring/recorder_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "parser/job_log/lines/rank_part.h"
#include "parser/ring/ring_contents.h"
#include "trace/files/file_locks.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

/// Whether the process has ended and its parent has not asked for its exit code yet; its files are
/// closed.
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

/// Whether the process has a shared lock on the log, which readers have for a moment, too. Then it
/// is a recorder that gives way to others of its process.
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

/// The process that a ring file names; 0: not known.
std::int64_t processOfRing(const std::string& path) {
  std::string bytes(sizeof(ring_format::FileHeader), '\0');
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return 0;  // opening a FIFO may never end
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ring_format::FileHeader header{};
  std::string whyNot;
  return in && readRingHeader(bytes, header, whyNot) ? header.pid : 0;
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

void RecorderWatch::addLines(std::string_view lines) {
  const std::size_t mark = lines.rfind(log_format::kMeta);
  if (mark == std::string_view::npos) return;
  lines.remove_prefix(mark + log_format::kMeta.size());
  RankPart part;
  readMetaLine(part, lines.substr(0, lines.find('\n')), 0);
  host_ = part.info.host;
  ringFile_ = part.ringFile;
  isGone_ = false;
}

bool RecorderWatch::hasEndedByRing() const {
  if (ringFile_.empty() || ringFile_.find('/') != std::string::npos) return false;
  const std::string ring = (std::filesystem::path(path_).parent_path() / ringFile_).string();
  return recorderState(path_, host_, processOfRing(ring)) == RecorderState::kEnded;
}

bool RecorderWatch::isOutOfSight() const {
  return !wasHeld_ && !host_.empty() && host_ != thisHost();
}

void RecorderWatch::look() {
  const RecorderLock::State lock = RecorderLock::of(path_);
  wasHeld_ = wasHeld_ || lock == RecorderLock::State::kHeld;
  isGone_ = lock == RecorderLock::State::kFree && (wasHeld_ || hasEndedByRing());
}

}  // namespace pipetrace
