#pragma once

#include <string>

namespace pipetrace {

/// The bytes of a file. Throws Error that names the file and the reason.
std::string readFile(const std::string& path);

/// The same of a text in UTF-8. Throws Error for other bytes, and for a zero, with the offset of
/// the first one.
std::string readText(const std::string& path);

}  // namespace pipetrace
