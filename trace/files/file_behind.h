#pragma once

#include <string>

namespace pipetrace {

/// The absolute path of the file that `path` names, all links followed, whether that file exists or
/// not: two names of one file give one path (hard links aside). Links that lead back to themselves
/// are left as they are.
std::string fileBehind(const std::string& path);

}  // namespace pipetrace
