#include "apps/command_line.h"

#include <memory>
#include <vector>

#include "apps/help_formatter.h"

namespace pipetrace {
namespace {

/// An unknown option goes before a missing INPUT, as it may be the reason.
int exitOf(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (!unknown.empty() && error.get_name() == "RequiredError") {
    return exitOf(app, CLI::ExtrasError(unknown));
  }
  return app.exit(error) == 0 ? 0 : kExitCouldNot;
}

}  // namespace

void setUp(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return failed->get_name() + ": " + CLI::FailureMessage::simple(failed, error);
  });
}

std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return exitOf(app, error);
  }
  return std::nullopt;
}

}  // namespace pipetrace
