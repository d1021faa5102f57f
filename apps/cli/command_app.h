#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/flag_table.h"

namespace pipetrace {

/// The name of the program and its arguments in help texts.
inline constexpr const char* kProgramOperand = "-- PROGRAM [ARGUMENT]";

/// The command line of a program, or of one of its commands: CLI11's, with our help texts and
/// messages. It also keeps its exit codes and examples, which --help prints at the end and the
/// manual page prints in sections of their own.
class CommandApp : public CLI::App {
 public:
  /// Messages begin with `name`: "pipe-trace plan".
  explicit CommandApp(const std::string& name);

  /// `examples` are command lines; one may continue after a backslash and a newline.
  void describeEnd(std::vector<ExitCode> exitCodes, std::vector<std::string> examples);

  /// Declares for help texts, manual pages and completions that a program and its arguments come
  /// after "--". The caller takes them out of the arguments.
  void addProgram(std::string description) { program_ = std::move(description); }
  /// The description of that program; empty without one.
  const std::string& program() const { return program_; }

  /// Says what was meant by an argument that the command does not take, such as "--export" by "-o";
  /// an empty text where that is unknown.
  using Advice = std::function<std::string(const std::string& argument)>;
  void adviseOn(Advice advice) { advice_.push_back(std::move(advice)); }
  /// The first text that is not empty.
  std::string adviceOn(const std::string& argument) const;

  /// Completions offer these values for the option, whose help does not list them.
  void offer(const CLI::Option* option, std::vector<std::string> words);
  /// They offer files with these endings, without the dot, for a positional argument.
  void offerFiles(const CLI::Option* argument, std::vector<std::string> endings);
  /// Says that the option names an output. parseCommandLine() refuses outputs that are a file of
  /// another option or argument.
  void writes(const CLI::Option* option) { outputs_.insert(option); }
  /// Throws Error for such an output.
  void refuseInputs() const;
  /// Those that were offered; empty for others.
  std::vector<std::string> wordsOf(const CLI::Option* option) const;
  std::vector<std::string> endingsOf(const CLI::Option* argument) const;

  const std::vector<ExitCode>& exitCodes() const { return exitCodes_; }
  const std::vector<std::string>& examples() const { return examples_; }

 private:
  std::vector<ExitCode> exitCodes_;
  std::vector<std::string> examples_;
  std::vector<Advice> advice_;
  std::map<const CLI::Option*, std::vector<std::string>> words_;
  std::map<const CLI::Option*, std::vector<std::string>> endings_;
  std::set<const CLI::Option*> outputs_;
  std::string program_;
};

/// The exit codes of a command that reads a run.
std::vector<ExitCode> exitCodesOfReading();

inline constexpr int kExitFindings = 1;
inline constexpr int kExitCouldNot = 2;

/// Parses the arguments (argv[0] is passed over). Returns the exit code when nothing is left to do:
/// --help or --version was printed, or the command line is wrong, which was reported. Throws Error
/// when these cannot be printed, and for an output that is an input (CommandApp::writes()).
std::optional<int> parseCommandLine(CommandApp& app, int argc, char** argv);

/// Parses words, of which none is the name of a program. Throws Error where they are wrong, with
/// what parseCommandLine() reports.
void parseWords(CommandApp& app, std::vector<std::string> words);

}  // namespace pipetrace
