#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/flag_table.h"

namespace pipetrace {

class CommandApp;

/// The command that prints the help of another one; completions offer the commands after it.
inline constexpr std::string_view kHelpCommand = "help";

/// A command of a program: what the program does when its first argument is this name.
struct Command {
  std::string name;
  std::string summary;                        ///< one line
  std::function<void(CommandApp&)> describe;  ///< declares its arguments
  /// argv[0] is the command's name. Returns the exit code; throws Error for 2.
  std::function<int(int argc, char** argv)> run;
};

/// One of our programs.
struct Program {
  std::string name;                           ///< "pipe-trace"
  std::string summary;                        ///< for the first line of its manual page
  std::function<void(CommandApp&)> describe;  ///< declares its arguments without a command
  /// Runs it without a command. Returns the exit code; throws Error for 2.
  std::function<int(int argc, char** argv)> run;
  std::vector<Command> commands;
  /// Names that are no command, and what to do instead: "summary" and "pipe-trace LOGS prints the
  /// summary".
  std::vector<std::pair<std::string, std::string>> insteadOf;
  /// Advice for a first argument that is meant as no command: "A program comes after --"; or empty.
  std::string firstMayBe;

  /// Null for what is no command.
  const Command* find(std::string_view command) const;
  std::vector<std::string> commandNames() const;
  /// The commands as --help lists them, a line each.
  std::string commandList() const;
  /// All command lines: the one without a command first, then each command's.
  std::vector<FlagTable> flagTables() const;
};

/// Throws Error for a word that is no file and no command, but nearly one, or is in
/// Program::insteadOf.
void refuseMistypedCommand(const Program& program, const std::string& word);

/// Notes what a command does from now on, as in "reading the inputs": the message says it where
/// memory runs out. `what` must live as long as the program, as literals do. Any thread.
void nowDoing(const char* what) noexcept;

/// Runs what the arguments of main() ask for, prints what it throws, and returns the exit code.
int runProgram(const Program& program, int argc, char** argv);

}  // namespace pipetrace
