#include "trace/files/write_all.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pipetrace {

Error writeError(const char* what, const std::string& path, int error) {
  std::string text = "cannot " + std::string(what) + " " +
                     (path == "-" ? "standard output" : path) + ": " + std::strerror(error);
  switch (error) {
    case ENOENT: text += "; create its folder first"; break;
    case EACCES:
    case EPERM:
    case EROFS: text += "; choose a folder that you may write to"; break;
    case ENOSPC:
    case EDQUOT:
      text += "; free some space or choose another disk";
      // A file on a full disk that standard output goes to keeps what it got.
      if (path != "-") text += " (nothing was left behind)";
      break;
    case EFBIG: text += "; raise the limit on file sizes (ulimit -f)"; break;
    case EISDIR: text += "; name a file"; break;
    default: break;
  }
  return Error(text);
}

void syncFolder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw writeError("open", folder, errno);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0 && error != EINVAL && error != EROFS) throw writeError("sync", folder, error);
}

}  // namespace pipetrace
