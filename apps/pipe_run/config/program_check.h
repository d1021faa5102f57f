#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// How a program ended that was asked whether it takes a configuration file.
struct ProgramCheck {
  int signal = 0;      ///< that came to this process meanwhile; the program was ended then
  std::string output;  ///< of both kinds
};

/// Runs `command` with --dry-run and waits for its end. In its environment it is rank 0 of `ranks`,
/// so that it checks what ranks check. It has nothing to connect to. Throws Error with its last
/// words if it fails.
ProgramCheck checkProgram(const std::vector<std::string>& command, int ranks);

/// The lines of a text that begin so.
std::vector<std::string> linesWith(const std::string& start, const std::string& text);

}  // namespace pipetrace
