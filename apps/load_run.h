#pragma once

#include <string>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Which run to load, and what to say about it.
struct LoadRunOptions {
  std::vector<std::string> inputs;
  int run = -1;                       ///< as LoadOptions
  int threads = 0;                    ///< as LoadOptions
  Severity lowest = Severity::kNote;  ///< what is told on standard error
};

/// loadTimeline() and completeTimeline(). What was found on the way is printed to standard error
/// even when loading fails.
Timeline loadRun(const LoadRunOptions& options, Diagnostics& diagnostics);

}  // namespace pipetrace
