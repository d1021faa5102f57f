#pragma once

#include <string>

namespace pipetrace {

/// The bytes of a file. Throws Error saying what failed and on what.
std::string readFile(const std::string& path);

}  // namespace pipetrace
