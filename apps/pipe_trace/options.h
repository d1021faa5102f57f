#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/cli/large_json.h"
#include "apps/pipe_trace/inputs/load_run_options.h"
#include "chart/colors/theme.h"

namespace pipetrace {

class CommandApp;

/// The options of pipe-trace without a command.
struct PipeTraceOptions {
  LoadRunOptions load;
  std::vector<std::string> outputs;
  std::string pipelineLogger;  ///< the folder for files of PipelineLogger; empty: none
  std::string format;  ///< of outputs whose name has no ending; empty: Chrome JSON for "-" only
  bool json = false;
  bool flows = true;
  ThemeName theme = ThemeName::kPaper;  ///< of pictures
  bool isDark = false;                  ///< the dark form of the theme
  bool absoluteTime = false;  ///< profiles count from the epoch, not from their first event
  bool follow = false;
  std::int64_t largeJson = kLargeJson;  ///< bytes from which a JSON output gets advice

  // PaddlePaddle's spelling. With devices given there are no inputs and outputs.
  std::vector<int> devices;
  std::string logFolder;
  bool multiMachine = false;
  std::string paddleStyle;  ///< "2023", or empty for the current one
};

/// Declares -o and what the profiles of -o are like. `options` must outlive `app`.
void addProfileOptions(CLI::App& app, PipeTraceOptions& options);

/// Declares the arguments of pipe-trace without a command. `options` must outlive `app`.
void addPipeTraceOptions(CommandApp& app, PipeTraceOptions& options);

}  // namespace pipetrace
