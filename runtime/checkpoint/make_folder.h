#pragma once

#include <string>

namespace pipetrace {

/// Makes a folder and those above it, unless they are there. Several ranks may do it at once.
/// Throws Error with the path and the reason.
void makeFolder(const std::string& path);

}  // namespace pipetrace
