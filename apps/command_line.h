#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace pipetrace {

inline constexpr int kExitFindings = 1;
inline constexpr int kExitCouldNot = 2;

/// What all commands share: how a mistyped command line is told ("pipe-trace plan: …").
void setUp(CLI::App& app);

/// Parses the arguments (argv[0] is passed over). Returns the exit code where that is all there is
/// to do: --help and --version were printed, or what is wrong with the command line.
std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv);

}  // namespace pipetrace
