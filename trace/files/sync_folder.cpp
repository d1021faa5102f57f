#include "trace/files/sync_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "trace/files/write_all.h"

namespace pipetrace {

void syncFolder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw writeError("open", folder, errno);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0 && error != EINVAL && error != EROFS) throw writeError("sync", folder, error);
}

}  // namespace pipetrace
