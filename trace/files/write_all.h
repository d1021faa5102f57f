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

/// Has the disk keep the names that files in `folder` have now: a file that was renamed into it has
/// its new name after a crash of the machine, too. File systems that sync no folders keep names in
/// ways of their own, which is no error. Throws Error for a folder that is missing, or a disk that
/// fails.
void syncFolder(const std::string& folder);

}  // namespace pipetrace
