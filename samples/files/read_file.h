#pragma once

#include <string>

namespace pipetrace {

/// The bytes of a file. Throws Error that names the file and the reason.
std::string readFile(const std::string& path);

}  // namespace pipetrace
