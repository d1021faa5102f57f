#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/run/run.h"
#include "python/abi/table.h"

namespace pipetrace {

/// The names of the tables of a run, as of makeTable().
std::vector<std::string> tableNames();

/// A table of a run (docs/python.md lists the columns). Times are in nanoseconds since the Unix
/// epoch, in the clock of rank 0. Uses the run's threads. Throws Error for a name that no table
/// has.
///
/// - jobs: what the compute lanes have;
/// - messages: both ends of each in a row, of the phase that counts (JobGraph);
/// - collectives: each as each member saw it;
/// - bubbles: idle time with its class and culprit, and waits inside jobs;
/// - counters: all samples;
/// - by_name: timesByName().
std::shared_ptr<const Table> makeTable(const Run& run, const std::string& name);

}  // namespace pipetrace
