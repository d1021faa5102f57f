#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "analysis/steps/selection.h"
#include "analysis/topology/given_topology.h"
#include "parser/load_timeline.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace CLI {
class App;
}

namespace pipetrace {

/// Which run to load, and what to say about it: what the commands that read one share.
struct LoadRunOptions {
  std::vector<std::string> inputs;
  int run = -1;                     ///< as LoadOptions
  int threads = 0;                  ///< as LoadOptions
  std::string pattern;              ///< as LoadOptions
  Nanoseconds timeUnit = kNsPerMs;  ///< as LoadOptions
  std::string kindsFile;            ///< as LoadOptions
  bool strict = false;              ///< findings are to make the exit code 1
  bool quiet = false;
  GivenTopology topology;
  bool align = true;  ///< --align log
  Selection selection;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();  ///< of the work
};

/// Declares them all, INPUT first. `options` must outlive `app`.
void addLoadRunOptions(CLI::App& app, LoadRunOptions& options);

/// Of the texts between the commas of 0,2,4-7. Throws CLI::ValidationError for any other, which
/// names the option.
std::vector<NumberRange> rangesFrom(const std::vector<std::string>& list, const char* option);

/// What is told on standard error. Under --quiet only errors, and what makes --strict exit with 1.
Severity lowestToTell(const LoadRunOptions& options);

/// 0, or under --strict what says that there were findings.
int exitCodeOf(const LoadRunOptions& options, const Diagnostics& diagnostics);

/// loadTimeline(), with a progress bar, what the options say of topology and clocks, and
/// completeTimeline(). What was found on the way is printed to standard error even when loading
/// fails. `files` is as for loadTimeline(). The selection is checked and left to the caller to
/// apply: what is measured is the whole run.
Timeline loadRun(const LoadRunOptions& options, Diagnostics& diagnostics,
                 std::vector<LoadedFile>* files = nullptr);

}  // namespace pipetrace
