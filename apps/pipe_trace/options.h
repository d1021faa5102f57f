#pragma once

#include <string>
#include <vector>

#include "apps/cli/large_json.h"
#include "apps/pipe_trace/load_run_options.h"

namespace CLI {
class App;
}

namespace pipetrace {

/// What pipe-trace was asked to do.
struct PipeTraceOptions {
  LoadRunOptions load;
  std::vector<std::string> outputs;
  std::string format;  ///< of outputs whose name does not tell; empty: Chrome JSON for "-" only
  bool json = false;
  bool flows = true;
  bool absoluteTime = false;  ///< profiles count from the epoch, not from their first event
  bool follow = false;
  std::int64_t largeJson = kLargeJson;  ///< bytes from which a JSON output gets advice

  // PaddlePaddle's spelling. With devices given there are no inputs and outputs.
  std::vector<int> devices;
  std::string logFolder;
  bool multiMachine = false;
  std::string paddleStyle;  ///< "2023", or empty for the current one
};

/// The flag table: declares every argument of pipe-trace once. `options` must outlive `app`.
void addPipeTraceOptions(CLI::App& app, PipeTraceOptions& options);

}  // namespace pipetrace
