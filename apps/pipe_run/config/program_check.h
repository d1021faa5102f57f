#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// How a program ended that was asked whether it takes a configuration file.
struct ProgramCheck {
  int signal = 0;      ///< that came to this process meanwhile; the program was ended then
  std::string output;  ///< of both kinds
};

/// Runs `command` with --dry-run and with no place among ranks, and waits for its end. Throws Error
/// with its last words if it fails.
ProgramCheck checkProgram(const std::vector<std::string>& command);

/// The lines of a text that begin so.
std::vector<std::string> linesWith(const std::string& start, const std::string& text);

}  // namespace pipetrace
