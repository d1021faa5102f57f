#pragma once

#include <string>
#include <vector>

#include "apps/pipe_trace/inputs/load_run_options.h"
#include "apps/pipe_trace/outputs/profile_outputs.h"

namespace pipetrace {

class CommandApp;
struct Program;

/// The options of pipe-trace without a command.
struct ConvertOptions {
  LoadRunOptions load;
  ProfileOutputs profiles;
  bool follow = false;
  bool force = false;  ///< print a summary that means nothing

  // PaddlePaddle's spelling. With devices given there are no inputs and outputs.
  std::vector<int> devices;
  std::string logFolder;
  bool multiMachine = false;
  std::string paddleStyle;  ///< "2023", or empty for the current one
};

/// Declares the arguments of pipe-trace without a command. The help lists the commands of
/// `program`. All must outlive `app`.
void addConvertOptions(CommandApp& app, ConvertOptions& options, const Program& program);

}  // namespace pipetrace
