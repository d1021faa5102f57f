#include "trace/files/replaced_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "trace/files/write_error.h"

namespace pipetrace {
namespace {

bool saysThatThereAreNoLinks(int error) {
  return error == EPERM || error == EACCES || error == EMLINK || error == ENOSYS ||
         error == EOPNOTSUPP || error == EXDEV;
}

/// Makes a hard link beside the file. Returns 0 and its name in `secondName`, or an errno.
int link(const std::string& path, std::string& secondName) {
  const std::string stem = path + ".old-" + std::to_string(::getpid());
  secondName = stem;
  for (int i = 1; ::link(path.c_str(), secondName.c_str()) != 0; ++i) {
    if (errno != EEXIST) return errno;
    secondName = stem + "-" + std::to_string(i);
  }
  return 0;
}

}  // namespace

void ReplacedFiles::keep(const std::string& path) {
  Kept kept{.path = path, .secondName = {}};
  const int error = link(path, kept.secondName);
  if (saysThatThereAreNoLinks(error)) return;
  if (error == ENOENT) {
    kept.secondName.clear();
  } else if (error != 0) {
    throw writeError("replace", path, error);
  }
  kept_.push_back(std::move(kept));
}

void ReplacedFiles::done() {
  for (const Kept& kept : kept_) {
    if (!kept.secondName.empty()) ::unlink(kept.secondName.c_str());
  }
  kept_.clear();
}

ReplacedFiles::~ReplacedFiles() {
  for (const Kept& kept : kept_) {
    if (kept.secondName.empty()) {
      ::unlink(kept.path.c_str());
    } else if (std::rename(kept.secondName.c_str(), kept.path.c_str()) == 0) {
      // rename() keeps both names if they already name one file.
      ::unlink(kept.secondName.c_str());
    }
  }
}

}  // namespace pipetrace
