#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace pipetrace {

/// Texts as frames of zstd (RFC 8878), level 3, with a checksum. Each can be read without the
/// others, so what a killed process has written is readable to its last frame. libzstd.so.1 is
/// opened where it is needed: recording needs no package. Not thread-safe.
class LogFrames {
 public:
  /// Throws Error where the library is missing.
  LogFrames();
  ~LogFrames();
  LogFrames(const LogFrames&) = delete;
  LogFrames& operator=(const LogFrames&) = delete;

  /// The text as one frame; empty where there is no memory for it. Holds until the next call.
  std::string_view frameOf(std::string_view text) noexcept;

 private:
  struct Library;

  const Library& library_;
  void* context_ = nullptr;
  std::vector<char> frame_;
};

}  // namespace pipetrace
