#include "apps/pipe_trace/inputs/view_command.h"

#include "trace/text/shell_word.h"

namespace pipetrace {

std::string inputWord(const std::string& input) {
  // A name with a dash in front would be an option.
  return shellWord(input.starts_with('-') ? "./" + input : input);
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
