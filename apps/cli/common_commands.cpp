#include "apps/cli/common_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "apps/cli/command_app.h"
#include "apps/cli/completions.h"
#include "apps/cli/man_page.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

std::vector<ExitCode> exitCodesOfPrinting() { return {{"0", "done"}, {"2", "could not"}}; }

std::string versionOf(const std::string& program) { return program + " " PIPETRACE_VERSION; }

void addHelpOptions(CommandApp& app, const std::string& program, std::string& command) {
  app.description("Prints the help of " + program + ", or of one of its commands.");
  app.describeEnd(exitCodesOfPrinting(), {program + " help completions"});
  app.add_option("COMMAND", command, "The command")->type_name("");
}

/// `PROGRAM help COMMAND` is `PROGRAM COMMAND --help`.
int printHelp(const Program& program, int argc, char** argv) {
  std::string name;
  CommandApp app(program.name + " help");
  addHelpOptions(app, program.name, name);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  std::string option = "--help";
  char* arguments[] = {name.data(), option.data(), nullptr};
  if (name.empty()) return program.run(2, arguments);
  const Command* const command = program.find(name);
  if (command != nullptr) return command->run(2, arguments);
  const std::string meant = nearestName(name, program.commandNames());
  throw Error(fmt::format(
      "there is no command {}; {}", name,
      meant.empty() ? fmt::format("the commands are {}", fmt::join(program.commandNames(), ", "))
                    : "did you mean " + meant + "?"));
}

void addCompletionsOptions(CommandApp& app, const std::string& program, std::string& shell) {
  app.description(
      "Prints a script that makes the shell complete commands, options, values and file names.\n"
      "An installed " +
      program + " has them where the shells look for them.");
  app.describeEnd(exitCodesOfPrinting(), {"source <(" + program + " completions bash)"});
  app.add_option("SHELL", shell, "The shell that the script is for")
      ->type_name(fmt::format("{}", fmt::join(completionShells(), "|")))
      ->check(CLI::IsMember(completionShells()).description(""))
      ->required();
}

int printCompletions(const Program& program, int argc, char** argv) {
  std::string shell;
  CommandApp app(program.name + " completions");
  addCompletionsOptions(app, program.name, shell);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  writeWholeFile("-", completionScript(shell, program.name, program.flagTables()));
  return 0;
}

void addManOptions(CommandApp& app, const std::string& program) {
  app.description("Prints the manual page in roff.");
  app.describeEnd(exitCodesOfPrinting(), {program + " man | man -l -"});
}

int printMan(const Program& program, int argc, char** argv) {
  CommandApp app(program.name + " man");
  addManOptions(app, program.name);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  writeWholeFile("-", manPage(program, versionOf(program.name)));
  return 0;
}

}  // namespace

void addCommonCommands(Program& program, const Program& (*self)()) {
  static std::string unused;
  const std::string name = program.name;
  program.commands.push_back(
      {std::string(kHelpCommand), "prints this help, or that of a command",
       [name](CommandApp& app) { addHelpOptions(app, name, unused); },
       [self](int argc, char** argv) { return printHelp(self(), argc, argv); }});
  program.commands.push_back(
      {"completions", "prints what makes a shell complete " + name,
       [name](CommandApp& app) { addCompletionsOptions(app, name, unused); },
       [self](int argc, char** argv) { return printCompletions(self(), argc, argv); }});
  program.commands.push_back(
      {"man", "prints the manual page", [name](CommandApp& app) { addManOptions(app, name); },
       [self](int argc, char** argv) { return printMan(self(), argc, argv); }});
}

void addVersion(CommandApp& app) {
  app.set_version_flag("-V,--version", versionOf(app.get_name()));
}

}  // namespace pipetrace
