#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace pipetrace {

inline constexpr int kExitFindings = 1;
inline constexpr int kExitCouldNot = 2;

/// What all commands share: how a mistyped command line is told ("pipe-trace plan: …").
void setUp(CLI::App& app);

/// Parses the arguments (argv[0] is passed over). Returns the exit code where that is all there is
/// to do: --help and --version were printed, or what is wrong with the command line. Throws Error
/// when they cannot be printed.
std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv);

/// Which of `names` was most likely meant: the first of those that are one letter off, or two of
/// more than four (added, left out, changed, or swapped with its neighbour). Empty: none of them.
std::string nearestName(std::string_view typed, const std::vector<std::string>& names);

}  // namespace pipetrace
