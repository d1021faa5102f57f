#pragma once

#include <optional>

namespace pipetrace {

class CommandApp;

inline constexpr int kExitFindings = 1;
inline constexpr int kExitCouldNot = 2;

/// Parses the arguments (argv[0] is passed over). Returns the exit code when nothing is left to do:
/// --help or --version was printed, or the command line is wrong, which was reported. Throws Error
/// when these cannot be printed, and for an output that is an input (CommandApp::writes()).
std::optional<int> parseCommandLine(CommandApp& app, int argc, char** argv);

}  // namespace pipetrace
