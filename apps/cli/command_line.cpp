#include "apps/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "apps/cli/shared_options.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

/// The argument that was most likely meant by one that is not expected, or an empty text.
std::string meantBy(const CommandApp& app, const std::string& argument) {
  if (std::string meant = app.adviceOn(argument.substr(0, argument.find('='))); !meant.empty()) {
    return meant;
  }
  if (!argument.starts_with("--")) return "";
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string meant = nearestOption(argument.substr(0, argument.find('=')), names);
  return isOldSpelling(meant) ? "--" + app.get_option(meant)->get_lnames().front() : meant;
}

/// CLI11 lists unexpected arguments from the last to the first; this lists them in their order.
CLI::ParseError unexpected(const CommandApp& app, const std::vector<std::string>& arguments) {
  std::string text = arguments.size() == 1 ? "The following argument was not expected:"
                                           : "The following arguments were not expected:";
  for (const std::string& argument : arguments) text += " " + argument;
  for (const std::string& argument : arguments) {
    const std::string meant = meantBy(app, argument);
    if (meant.empty()) continue;
    text += "; did you mean " + meant + "?";
    break;
  }
  return {text, CLI::ExitCodes::ExtrasError};
}

/// CLI11 says of an option that was given twice "--steps: At Most 1 required but received 2".
std::optional<CLI::ParseError> givenTwice(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::size_t at = text.find(": At Most 1 required");
  if (at == std::string::npos) return std::nullopt;
  return CLI::ParseError(text.substr(0, at) + " was given more than once", error.get_exit_code());
}

/// Prints what CLI11 says of an end, and returns its exit code.
int printEnd(const CommandApp& app, const CLI::Error& error) {
  std::ostringstream out;
  std::ostringstream errors;
  const int code = app.exit(error, out, errors);
  if (!out.str().empty()) printText(out.str());
  printError(errors.str());
  return code;
}

/// An unknown option is reported in place of a missing INPUT, as it may be the reason.
int exitOf(const CommandApp& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  // CLI11 gives this error the name of the program.
  const bool isUnexpected = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const bool reportsUnknown = isUnexpected || error.get_name() == "RequiredError";
  if (!unknown.empty() && reportsUnknown) {
    printEnd(app, unexpected(app, unknown));
    return kExitCouldNot;
  }
  const int code = printEnd(app, givenTwice(error).value_or(error));
  return code == 0 ? 0 : kExitCouldNot;
}

}  // namespace

std::optional<int> parseCommandLine(CommandApp& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return exitOf(app, error);
  }
  app.refuseInputs();
  return std::nullopt;
}

}  // namespace pipetrace
