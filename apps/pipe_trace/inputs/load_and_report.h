#pragma once

#include <vector>

#include "analysis/run/doubts.h"
#include "analysis/run/run.h"
#include "apps/pipe_trace/inputs/load_run_options.h"
#include "parser/load_timeline.h"
#include "trace/diagnostic.h"

namespace pipetrace {

class TraceReaders;

/// A run as it was read.
struct LoadedRun {
  LoadRunOptions load;
  Diagnostics diagnostics;
  Alignment alignment;
  std::vector<LoadedFile> files;
  Run run;
  std::vector<Doubt> doubts;
};

/// The lowest severity that is printed to standard error. --quiet hides notes, and no doubt.
Severity lowestSeverity(const LoadRunOptions& options);

/// 0, or under --strict 1 when there were findings, of which doubts are some.
int exitCodeOf(const LoadRunOptions& options, const Diagnostics& diagnostics,
               const std::vector<Doubt>& doubts = {});

/// doubtsOf() the run, printed to standard error as warnings under the same conditions, but for
/// those that loadAndReport() has printed.
std::vector<Doubt> doubtAndReport(const LoadRunOptions& options, const Run& run,
                                  const Diagnostics& diagnostics);

/// Declares --force. `force` must outlive `app`.
void addForce(CommandApp& app, bool& force);

/// Throws Error where doubts make figures meaningless, unless `force`.
void requireMeaning(const std::vector<Doubt>& doubts, bool force);

/// loadRun() with a progress bar. Prints the findings to standard error, even when loading fails.
/// `readers`, `files` and `alignment` are as for loadRun().
Run loadAndReport(const LoadRunOptions& options, const TraceReaders& readers,
                  Diagnostics& diagnostics, std::vector<LoadedFile>* files = nullptr,
                  Alignment* alignment = nullptr);

}  // namespace pipetrace
