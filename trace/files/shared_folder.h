#pragma once

#include <fcntl.h>

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
std::string sharedFolderWarning(const std::string& folder);

}  // namespace pipetrace
