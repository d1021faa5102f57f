#pragma once

#include <string_view>

namespace pipetrace {

/// Writes a line to stderr. A stderr that is closed or full changes nothing: what the program does
/// is more than what it says. Any thread.
void sayOnStderr(std::string_view line) noexcept;
/// The same, to stdout, at once.
void sayOnStdout(std::string_view line) noexcept;

}  // namespace pipetrace
