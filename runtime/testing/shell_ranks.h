#pragma once

#include <string>

#include "profiler/testing/recorded_log.h"
#include "runtime/starting_ranks/launcher.h"

namespace pipetrace {

/// For tests: ranks that are shells, with their logs in that of `log` and no display.
inline LaunchOptions shellRanks(const RecordedLog& log, int ranks, const std::string& script) {
  LaunchOptions options;
  options.ranks = ranks;
  options.command = {"/bin/sh", "-c", script};
  options.logDirectory = log.folder();
  options.display = -1;
  return options;
}

}  // namespace pipetrace
