#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace pipetrace {

/// For open(2) of a file to write whose folder may be another user's, too. The last part of the
/// path must be no symbolic link (ELOOP): somebody may have put it there, and its target may be any
/// file that this user can write.
inline constexpr int kNotThroughLinks = O_NOFOLLOW | O_CLOEXEC;

/// Advice where open(2) with kNotThroughLinks has failed with ELOOP.
inline constexpr const char* kLinkAdvice =
    "it is a symbolic link, and its target is not written; remove the link, or choose another "
    "folder";

/// Why other users can put files into the folder, or replace those in it, and what to do: one line.
/// Empty: they cannot, or the folder is not there. They may write to it, without the sticky bit
/// that keeps them from files of others, or they own it. Root may do all that; nobody else is in
/// the group that belongs to the owner.
inline std::string sharedFolderWarning(const std::string& folder) {
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
