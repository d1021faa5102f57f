#include "trace/files/shared_folder.h"

#include <sys/stat.h>
#include <unistd.h>

namespace pipetrace {

std::string sharedFolderWarning(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return {};
  const std::string what = "other users can replace files in " + folder + ": ";
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return what + "it is a folder of user " + std::to_string(status.st_uid) +
           "; choose one of your own";
  }
  // By convention a user's own group has the user's number.
  const bool groupMay = (status.st_mode & S_IWGRP) != 0 && status.st_gid != status.st_uid;
  const bool othersMay = (status.st_mode & S_IWOTH) != 0;
  if ((!groupMay && !othersMay) || (status.st_mode & S_ISVTX) != 0) return {};
  return what + "they may write to it; chmod go-w it, or choose another folder";
}

}  // namespace pipetrace
