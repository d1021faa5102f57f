#pragma once

#include <string>

namespace pipetrace {

/// The file that would run as `program`: itself if it holds a '/', else the first executable one of
/// that name in PATH. Throws Error, as "cannot run … : why", if there is none.
std::string findProgram(const std::string& program);

}  // namespace pipetrace
