#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ingest/run_request.h"

namespace CLI {
class App;
}

namespace pipetrace {

/// Which run to read, and what to say about it: the options that all commands share that read one.
struct LoadRunOptions : RunRequest {
  bool strict = false;  ///< findings are to make the exit code 1
  bool quiet = false;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();  ///< of the work
};

/// Declares them all, INPUT first. `options` must outlive `app`.
void addLoadRunOptions(CLI::App& app, LoadRunOptions& options);

/// The ranges of the texts between the commas of 0,2,4-7. Throws CLI::ValidationError for any other
/// text, which names the option.
std::vector<NumberRange> rangesFrom(const std::vector<std::string>& list, const char* option);

}  // namespace pipetrace
