#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pipetrace {

/// What pipe-trace was asked to do.
struct PipeTraceOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  bool json = false;
  bool noBubbles = false;
  bool noFlows = false;
  bool strict = false;
  bool quiet = false;
  int run = -1;
};

/// The flag table: declares every argument of pipe-trace once. `options` must outlive `app`.
void addPipeTraceOptions(CLI::App& app, PipeTraceOptions& options);

}  // namespace pipetrace
