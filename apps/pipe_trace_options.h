#pragma once

#include <string>
#include <vector>

#include "trace/diagnostic.h"

namespace CLI {
class App;
}

namespace pipetrace {

/// What pipe-trace was asked to do.
struct PipeTraceOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string format;  ///< of outputs whose name does not tell; empty: Chrome JSON for "-" only
  bool json = false;
  bool noBubbles = false;
  bool noFlows = false;
  bool strict = false;
  bool quiet = false;
  int run = -1;
  int threads = 0;  ///< 0: one per core

  // PaddlePaddle's spelling. With devices given there are no inputs and outputs.
  std::vector<int> devices;
  std::string logFolder;
  bool multiMachine = false;
  std::string paddleStyle;  ///< "2023", or empty for the current one
};

/// Under --quiet only errors, and what makes --strict exit with 1.
Severity lowestToTell(const PipeTraceOptions& options);

/// The flag table: declares every argument of pipe-trace once. `options` must outlive `app`.
void addPipeTraceOptions(CLI::App& app, PipeTraceOptions& options);

}  // namespace pipetrace
