#include "profiler/process/log_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "trace/error.h"
#include "trace/files/file_locks.h"
#include "trace/files/shared_folder.h"
#include "trace/files/write_all.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

// A reader takes the lock for a moment to see whether the log is still written.
constexpr int kClaimTries = 100;
constexpr std::chrono::milliseconds kPause{5};

/// The process that has locked the file; 0: not known.
FileLock holderOf(int fd) {
  const std::vector<FileLock> locks = locksOn(fd);
  return locks.empty() ? FileLock() : locks.front();
}

using FileId = std::pair<dev_t, ino_t>;

FileId idOf(int fd) {
  struct stat file {};
  return fstat(fd, &file) == 0 ? FileId(file.st_dev, file.st_ino) : FileId();
}

/// The logs of this process whose holders give way.
struct Yielding {
  std::mutex mutex;
  std::map<FileId, std::function<void()>> giveWay;
};

Yielding& yielding() {
  static Yielding* const instance = new Yielding;  // never destroyed: recorders end at exit, too
  return *instance;
}

/// Asks the object of this process that has the log to give way, if it does that.
void askToGiveWay(int fd) {
  std::function<void()> giveWay;
  {
    const std::lock_guard lock(yielding().mutex);
    const auto found = yielding().giveWay.find(idOf(fd));
    if (found != yielding().giveWay.end()) giveWay = found->second;
  }
  if (giveWay) giveWay();  // not under the lock, which its release() takes
}

const char* adviceFor(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE: return "raise the limit of open files (ulimit -n)";
    case ELOOP: return kLinkAdvice;
    case ENOSPC:
    case EDQUOT: return "make room there, or choose another log folder";
    default: return "choose a log folder that can be written to";
  }
}

}  // namespace

LogFile::LogFile(std::string path) : path_(std::move(path)) {
  if (path_.ends_with(log_format::kCompressedEnding)) frames_ = std::make_unique<LogFrames>();
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error("cannot make the log folder " + folder.string() + ": " + error.message() + "; " +
                adviceFor(error.value()));
  }
  // Opening a pipe without a reader would wait.
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | kNotThroughLinks, 0644);
  if (fd_ < 0) {
    const int why = errno;
    throw Error("cannot open the job log " + path_ + ": " + std::strerror(why) + "; " +
                adviceFor(why));
  }
  fcntl(fd_, F_SETFL, O_APPEND);
}

LogFile::~LogFile() {
  stopGivingWay();
  if (fd_ >= 0) close(fd_);
}

LogFile::Claim LogFile::tryToClaim() noexcept {
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return Claim::kOurs;
  return errno == EWOULDBLOCK ? Claim::kTaken : Claim::kNoLocks;
}

void LogFile::claim(std::function<void()> giveWay) {
  Claim claim = tryToClaim();
  FileLock holder;
  bool hasAsked = false;
  for (int i = 0; i < kClaimTries && claim == Claim::kTaken; ++i) {
    holder = holderOf(fd_);
    if (holder.isShared && holder.process == getpid()) {
      if (std::exchange(hasAsked, true)) break;
      askToGiveWay(fd_);
    } else if (holder.isShared || holder.process == 0) {  // that may be a reader's look
      std::this_thread::sleep_for(kPause);
    } else {
      break;
    }
    claim = tryToClaim();
  }
  if (claim == Claim::kOurs && giveWay) letOthersAsk(std::move(giveWay));
  if (claim != Claim::kTaken) return;
  const long long process = holder.process;
  const bool isOurs = process == getpid();
  // The holder gives way but cannot be asked: it belongs to another copy of this library.
  if (isOurs && holder.isShared && flock(fd_, LOCK_SH | LOCK_NB) == 0) return;
  const std::string who = isOurs        ? "another recorder of this program"
                          : process > 0 ? "process " + std::to_string(process)
                                        : "another process";
  throw Error("cannot record into the job log " + path_ + ": " + who + " does; " +
              (isOurs ? "close that one first, or give each recorder" : "give each process") +
              " a rank or a log folder of its own");
}

void LogFile::letOthersAsk(std::function<void()> giveWay) {
  const std::lock_guard lock(yielding().mutex);
  yielding().giveWay[idOf(fd_)] = std::move(giveWay);
  givesWay_ = true;
  flock(fd_, LOCK_SH);  // which shows others that it gives way
}

void LogFile::stopGivingWay() noexcept {
  if (!std::exchange(givesWay_, false)) return;
  const std::lock_guard lock(yielding().mutex);
  yielding().giveWay.erase(idOf(fd_));
}

void LogFile::release() noexcept {
  if (fd_ < 0) return;
  stopGivingWay();
  flock(fd_, LOCK_UN);  // even if a process that is just being started still has the file open
  close(std::exchange(fd_, -1));
}

void LogFile::abandon() noexcept {
  // The thread that had locked it does not exist in the child.
  if (std::exchange(givesWay_, false)) std::construct_at(&yielding().mutex);
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

bool LogFile::writeAll(std::string_view& rest) noexcept {
  if (pipetrace::writeAll(fd_, rest)) return true;
  if (firstError_ == 0) firstError_ = errno;
  return false;
}

bool LogFile::removeLast(std::size_t bytes) noexcept {
  const off_t ours = lseek(fd_, 0, SEEK_CUR);  // where our last write ended
  struct stat file {};
  if (ours < 0 || fstat(fd_, &file) != 0 || file.st_size != ours) return false;
  return ftruncate(fd_, ours - static_cast<off_t>(bytes)) == 0;
}

void LogFile::look() noexcept {
  // Writing to a deleted file works, but nobody can read it.
  struct stat file {};
  isThere_ = fstat(fd_, &file) != 0 || file.st_nlink > 0;
  if (!isThere_ && firstError_ == 0) firstError_ = ENOENT;
}

std::int64_t LogFile::append(std::string_view lines, bool looks) noexcept {
  if (looks) look();
  if (isCompressed()) return appendFrame(lines);
  if (insideLine_) {
    std::string_view newline = "\n";
    insideLine_ = !writeAll(newline);
  }
  std::string_view rest = lines;
  if (!insideLine_ && isThere_ && writeAll(rest)) return 0;
  ++failures_;
  const std::string_view written = lines.substr(0, lines.size() - rest.size());
  const std::size_t torn = written.size() - (written.rfind('\n') + 1);  // npos + 1 is 0
  if (torn > 0) insideLine_ = !removeLast(torn);
  return std::count(rest.begin(), rest.end(), '\n');
}

/// A frame that got in partly is taken out again. Readers pass over one that could not be.
std::int64_t LogFile::appendFrame(std::string_view lines) noexcept {
  const std::string_view frame = frames_->frameOf(lines);
  std::string_view rest = frame;
  if (!frame.empty() && isThere_ && writeAll(rest)) return 0;
  if (frame.empty() && firstError_ == 0) firstError_ = ENOMEM;
  ++failures_;
  if (rest.size() < frame.size()) removeLast(frame.size() - rest.size());
  return std::count(lines.begin(), lines.end(), '\n');
}

}  // namespace pipetrace
