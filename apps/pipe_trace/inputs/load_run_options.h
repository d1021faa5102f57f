#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ingest/run_request.h"

namespace CLI {
class App;
}

namespace pipetrace {

/// Which run to read, and what to say about it: the options of every command that reads a run.
struct LoadRunOptions : RunRequest {
  bool strict = false;  ///< findings make the exit code 1
  bool quiet = false;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();  ///< start of the work
};

/// Declares them all, INPUT first. `options` must outlive `app`.
void addLoadRunOptions(CLI::App& app, LoadRunOptions& options);

/// Takes --ranks and --skip away, with an error that says why: what one rank waits for is the work
/// of others. `what`: "a report".
void refuseParts(CLI::App& app, const std::string& what);

}  // namespace pipetrace
