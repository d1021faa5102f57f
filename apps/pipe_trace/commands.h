#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/flag_table.h"

namespace pipetrace {

/// A command of pipe-trace: its first argument, if that is one of these names. Without one it
/// reads INPUT.
struct PipeTraceCommand {
  std::string_view name;
  std::string_view summary;
  void (*describe)(CLI::App& app);  ///< declares its arguments
  /// argv[0] is the command's name. Returns the exit code; throws Error for 2.
  int (*run)(int argc, char** argv);
};

/// Null for what is no command.
const PipeTraceCommand* findCommand(std::string_view name);

/// What can be written on the command line: without a command first, then each command.
std::vector<FlagTable> allFlagTables();

/// The commands as --help lists them, a line each.
std::string commandList();

std::vector<std::string> commandNames();

}  // namespace pipetrace
