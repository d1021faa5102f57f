#include "apps/pipe_trace/shell_completions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string>

#include "apps/cli/command_line.h"
#include "apps/cli/completions.h"
#include "apps/cli/man_page.h"
#include "apps/pipe_trace/commands.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

constexpr const char* kProgram = "pipe-trace";

void addCompletionsOptions(CLI::App& app, std::string& shell) {
  app.description(
      "Prints a script that makes the shell complete commands, options, values and file names.\n"
      "An installed pipe-trace has them where the shells look for them.");
  app.footer("Example: source <(pipe-trace completions bash)");
  setUp(app);
  app.add_option("SHELL", shell, "Which shell it is for")
      ->type_name(fmt::format("{}", fmt::join(completionShells(), "|")))
      ->check(CLI::IsMember(completionShells()).description(""))
      ->required();
}

void addManOptions(CLI::App& app) {
  app.description("Prints the manual page in roff.");
  app.footer("Example: pipe-trace man | man -l -");
  setUp(app);
}

}  // namespace

void describeCompletions(CLI::App& app) {
  static std::string shell;
  addCompletionsOptions(app, shell);
}

void describeMan(CLI::App& app) { addManOptions(app); }

int completionsCommand(int argc, char** argv) {
  std::string shell;
  CLI::App app("", "pipe-trace completions");
  addCompletionsOptions(app, shell);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  writeWholeFile("-", completionScript(shell, kProgram, allFlagTables()));
  return 0;
}

int manCommand(int argc, char** argv) {
  CLI::App app("", "pipe-trace man");
  addManOptions(app);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  writeWholeFile("-", manPage(kProgram, "pipe-trace " PIPETRACE_VERSION, allFlagTables()));
  return 0;
}

}  // namespace pipetrace
