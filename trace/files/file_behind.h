#pragma once

#include <string>

namespace pipetrace {

/// The absolute path of the file that `path` names, with all links followed. The file need not
/// exist. Two names of one file give one path, hard links aside. Links that lead back to themselves
/// stay as they are.
std::string fileBehind(const std::string& path);

}  // namespace pipetrace
