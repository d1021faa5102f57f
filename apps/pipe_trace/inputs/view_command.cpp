#include "apps/pipe_trace/inputs/view_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "apps/cli/command_app.h"
#include "trace/text/shell_word.h"

namespace pipetrace {

std::string inputWord(const std::string& input) {
  // A name with a dash in front would be an option.
  return printedShellWord(input.starts_with('-') ? "./" + input : input);
}

std::string inputsOfCommand(const CLI::App& app, const LoadRunOptions& options) {
  std::string words;
  for (const std::string& input : options.inputs) {
    words += (words.empty() ? "" : " ") + (input == "-" ? "LOGS" : inputWord(input));
  }
  // Those that do not say which run it is, and how it is read.
  constexpr std::array<std::string_view, 6> kOthers = {"INPUT",   "--threads", "--strict",
                                                       "--quiet", "--help",    "--version"};
  LoadRunOptions unused;
  CommandApp declared("");
  addLoadRunOptions(declared, unused);
  for (const CLI::Option* each : declared.get_options()) {
    const std::string name = each->get_name();
    if (std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end()) continue;
    const CLI::Option* const given = app.get_option_no_throw(name);
    if (given == nullptr) continue;
    for (const std::string& value : given->results())
      words += " " + name + " " + printedShellWord(value);
  }
  return words;
}

std::string viewCommandOf(const LoadRunOptions& options) {
  const LoadOptions usual;
  const LoadOptions& reading = options.reading;
  const GivenTopology& given = options.topology;
  const bool isReadOtherwise = reading.run != usual.run || !reading.pattern.empty() ||
                               !reading.kinds.empty() || reading.jobTime != usual.jobTime;
  const bool isArranged =
      given.pipelineRanks || given.replicas || given.chunks || given.tensorRanks;
  if (isReadOtherwise || isArranged) return {};
  std::string command = "pipe-view";
  switch (options.align) {
    case AlignBy::kBest: break;
    case AlignBy::kNone: command += " --align none"; break;
    case AlignBy::kLog: command += " --align log"; break;
    case AlignBy::kCausal: command += " --align causal"; break;
  }
  for (const std::string& input : options.inputs) {
    if (input == "-") return {};
    command += " " + inputWord(input);
  }
  return command;
}

}  // namespace pipetrace
