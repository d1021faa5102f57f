#include "trace/files/write_all.h"

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

}  // namespace pipetrace
