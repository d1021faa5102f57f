#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/cli/flag_table.h"

namespace pipetrace {

/// The command line of a program, or of one of its commands: CLI11's, with our help texts and
/// messages. It also keeps its exit codes and examples, which --help prints at the end and the
/// manual page prints in sections of their own.
class CommandApp : public CLI::App {
 public:
  /// Messages begin with `name`: "pipe-trace plan".
  explicit CommandApp(const std::string& name);

  /// `examples` are command lines; one may continue after a backslash and a newline.
  void describeEnd(std::vector<ExitCode> exitCodes, std::vector<std::string> examples);

  const std::vector<ExitCode>& exitCodes() const { return exitCodes_; }
  const std::vector<std::string>& examples() const { return examples_; }

 private:
  std::vector<ExitCode> exitCodes_;
  std::vector<std::string> examples_;
};

/// The exit codes of a command that reads a run.
std::vector<ExitCode> exitCodesOfReading();

}  // namespace pipetrace
