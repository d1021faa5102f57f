#pragma once

#include <cstdint>
#include <string>

#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// Reads what is new in a file that grows. Not thread-safe.
class FileTail {
 public:
  /// The file need not be there yet.
  explicit FileTail(std::string path) : path_(std::move(path)) {}

  /// The next whole lines, `most` bytes of them or a little less; also the beginning of a line that
  /// is longer. `everything`: also of the last line, which will not grow any more. Empty: nothing
  /// is new.
  std::string next(std::size_t most, bool everything);
  /// Passes over what is there now.
  void skip();

 private:
  bool open();

  const std::string path_;
  OwnedFd file_;
  std::int64_t at_ = 0;
};

}  // namespace pipetrace
