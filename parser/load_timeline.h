#pragma once

#include <string>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

struct LoadOptions {
  /// Which run of a log that holds several, counted from 0; -1 is the last.
  int run = -1;
  /// How many threads may read; 0: one per core. What is read does not depend on it.
  int threads = 0;
};

/// The one front door for everything that can be read: files, folders (searched for
/// `workerlog.<rank>`), "-" for standard input. The format is chosen by content, not by name.
///
/// Throws Error when an input is missing or unreadable, when a folder holds nothing to read, and
/// when there is not a single event in all inputs. What is wrong inside a file (cut-off lines, bad
/// numbers) is added to `diagnostics`, and reading goes on. The timeline is sorted.
Timeline loadTimeline(const std::vector<std::string>& inputs, const LoadOptions& options,
                      Diagnostics& diagnostics);

}  // namespace pipetrace
