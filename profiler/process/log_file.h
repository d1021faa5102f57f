#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "profiler/process/log_frames.h"

namespace pipetrace {

/// The job log on disk, opened for appending. Other writers of whole lines (the launcher appends
/// the rank's output) do not tear ours. A log whose path ends in `.zst` is compressed: what is
/// appended at once is a frame of its own. Not thread-safe.
class LogFile {
 public:
  /// Makes the folder if it is missing. Throws Error, also for a symbolic link, which is not
  /// followed, and for a compressed log where libzstd is missing.
  explicit LogFile(std::string path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  /// Takes the log, for as long as this object lives or until release(). Throws Error, which names
  /// the process, if another object has taken it. Where the file system has no locks, nobody is
  /// refused. `giveWay`, if there is one, is called when another object of this process wants the
  /// log, on that object's thread, and has to release() it.
  void claim(std::function<void()> giveWay = {});
  /// Gives the log back; append() must not be called any more.
  void release() noexcept;
  /// In a forked child: closes the file, so that only the parent holds the claim.
  void abandon() noexcept;

  /// Appends whole lines in one write(2), or as few as the system lets it. Returns how many of them
  /// did not get in. A line that got in partly is taken out again, as it could read as a whole line
  /// with a wrong time. If others have written after it, it is closed before the next one. `looks`:
  /// finds out whether the file has been deleted, and then writes nothing; otherwise the last look
  /// counts.
  std::int64_t append(std::string_view lines, bool looks = true) noexcept;

  const std::string& path() const { return path_; }
  bool isCompressed() const { return frames_ != nullptr; }
  /// False: the file had been deleted at the last look.
  bool isThere() const { return isThere_; }
  /// append() calls that failed.
  std::int64_t failures() const { return failures_; }
  /// errno of the first failure; 0: none.
  int firstError() const { return firstError_; }

 private:
  enum class Claim { kOurs, kTaken, kNoLocks };
  Claim tryToClaim() noexcept;
  void look() noexcept;
  void letOthersAsk(std::function<void()> giveWay);
  void stopGivingWay() noexcept;
  std::int64_t appendFrame(std::string_view lines) noexcept;
  bool writeAll(std::string_view& rest) noexcept;
  bool removeLast(std::size_t bytes) noexcept;

  std::string path_;
  int fd_ = -1;
  std::unique_ptr<LogFrames> frames_;  // null: not compressed
  bool givesWay_ = false;
  bool insideLine_ = false;
  bool isThere_ = true;
  std::int64_t failures_ = 0;
  int firstError_ = 0;
};

}  // namespace pipetrace
