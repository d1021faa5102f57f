#pragma once

#include <unistd.h>
#include <cerrno>
#include <string>
#include <string_view>

#include "trace/error.h"

namespace pipetrace {

/// Writes `rest`, of which what could not be written is left. False, with errno: not all could.
inline bool writeAll(int file, std::string_view& rest) noexcept {
  while (!rest.empty()) {
    const ssize_t n = ::write(file, rest.data(), rest.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// The error of a failed write, such as "cannot create out/a.json: No such file or directory;
/// create its folder first". `what` is the verb, `error` an errno.
Error writeError(const char* what, const std::string& path, int error);

}  // namespace pipetrace
