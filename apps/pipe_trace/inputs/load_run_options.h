#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ingest/load_run.h"

namespace pipetrace {

class CommandApp;

/// Which run to read, and what to say about it: the options of every command that reads a run.
struct LoadRunOptions : RunRequest {
  bool strict = false;  ///< findings make the exit code 1
  bool quiet = false;
  /// The command says what makes figures doubtful where people read the figures, so that is not
  /// printed with the other findings.
  bool beginsWithDoubts = false;
  std::string name = {};  ///< of the run, in findings that name no file; empty: it needs none
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();  ///< start of the work
};

/// Declares those that say how runs are read. `options` must outlive `app`.
void addReadingOptions(CommandApp& app, LoadRunOptions& options);

/// Declares them all, INPUT first. `options` must outlive `app`.
void addLoadRunOptions(CommandApp& app, LoadRunOptions& options);

/// Takes --ranks and --skip away, with an error that says why: what one rank waits for is the work
/// of others. `what`: "a report".
void refuseParts(CommandApp& app, const std::string& what);

}  // namespace pipetrace
