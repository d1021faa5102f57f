#include "apps/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <sstream>
#include <vector>

#include "apps/cli/shared_options.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

/// The number of letters to add, leave out, change, or swap with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> to(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& least = to[i][j];
      if (i == 0 || j == 0) {
        least = i + j;
        continue;
      }
      least = std::min({to[i - 1][j] + 1, to[i][j - 1] + 1,
                        to[i - 1][j - 1] + static_cast<std::size_t>(a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least = std::min(least, to[i - 2][j - 2] + 1);
      }
    }
  }
  return to[a.size()][b.size()];
}

/// CLI11 lists unexpected arguments from the last to the first; this lists them in their order.
CLI::ParseError unexpected(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::string text = arguments.size() == 1 ? "The following argument was not expected:"
                                           : "The following arguments were not expected:";
  for (const std::string& argument : arguments) text += " " + argument;
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("--")) continue;
    std::string meant = nearestName(argument.substr(0, argument.find('=')), names);
    if (meant.empty()) continue;
    if (isOldSpelling(meant)) meant = "--" + app.get_option(meant)->get_lnames().front();
    text += "; did you mean " + meant + "?";
    break;
  }
  return {text, CLI::ExitCodes::ExtrasError};
}

/// An unknown option is reported in place of a missing INPUT, as it may be the reason.
int exitOf(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  // CLI11 gives this error the name of the program.
  const bool isUnexpected = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const bool reportsUnknown = isUnexpected || error.get_name() == "RequiredError";
  if (!unknown.empty() && reportsUnknown) {
    app.exit(unexpected(app, unknown));
    return kExitCouldNot;
  }
  std::ostringstream out;
  const int code = app.exit(error, out, std::cerr);
  if (!out.str().empty()) writeWholeFile("-", out.str());
  return code == 0 ? 0 : kExitCouldNot;
}

}  // namespace

std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return exitOf(app, error);
  }
  return std::nullopt;
}

std::string nearestName(std::string_view typed, const std::vector<std::string>& names) {
  constexpr std::size_t kShort = 4;
  std::string nearest;
  std::size_t least = typed.size() > kShort ? 3 : 2;
  for (const std::string& name : names) {
    const std::size_t off = distance(typed, name);
    if (off >= least) continue;
    least = off;
    nearest = name;
  }
  return nearest;
}

}  // namespace pipetrace
