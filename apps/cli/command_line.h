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

/// Parses the arguments (argv[0] is passed over). Returns the exit code when nothing is left to do:
/// --help or --version was printed, or the command line is wrong, which was reported. Throws Error
/// when these cannot be printed.
std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv);

/// The name that was most likely meant, or an empty text. Up to four letters, one may be off, and
/// in longer names two. A letter is off when it is added, left out, changed, or swapped with its
/// neighbour. The first of several such names counts.
std::string nearestName(std::string_view typed, const std::vector<std::string>& names);

}  // namespace pipetrace
