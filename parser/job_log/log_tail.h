#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "parser/zstd_frames.h"

namespace pipetrace {

/// Reads the whole lines that are appended to a file, in frames of zstd or plain. The file is
/// opened for each look only, so that following thousands of files takes no descriptors.
class LogTail {
 public:
  explicit LogTail(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  /// The whole lines that have come since the last call, of at most about `kMostAtOnce` bytes;
  /// empty when there is nothing new. Lines that are too long for a log are left out. Throws Error
  /// when the file cannot be read.
  std::string next();

  /// Whether the file was cut short or replaced by another one. From then on no lines come.
  bool wasReplaced() const { return replaced_; }

  static constexpr std::size_t kMostAtOnce = std::size_t{16} << 20;

 private:
  bool isStillThat(int fd);

  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool known_ = false;
  bool replaced_ = false;
  std::int64_t offset_ = 0;  // of the first byte that has not been read
  std::string head_;         // the first bytes of the file: another file may get its inode
  std::string rest_;         // the start of a line that has not ended
  std::unique_ptr<ZstdFrames> frames_;  // null: not compressed
};

/// The start of the last line that opens a run; npos where none does.
std::size_t lastMetaLine(const std::string& text);

/// The lines of a text that are not ordinary output.
std::string linesOfProfiler(std::string_view text);

}  // namespace pipetrace
