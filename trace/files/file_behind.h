#pragma once

#include <string>

namespace pipetrace {

/// The absolute path of the file that `path` names, with all links followed. The file need not
/// exist. Two names of one file give one path, hard links aside. Links that lead back to themselves
/// stay as they are.
std::string fileBehind(const std::string& path);

/// Whether both names lead to one file, through links of either kind: by device and inode. Files
/// that do not exist have one path.
bool isSameFile(const std::string& a, const std::string& b);

}  // namespace pipetrace
