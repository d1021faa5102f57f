#pragma once

#include <string>
#include <vector>

#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/outputs/report_outputs.h"

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace diff`: what differs between two runs.
void describeDiff(CommandApp& app);
int diffCommand(int argc, char** argv, const TraceReaders& readers);

/// The comparison of two runs that were read, and stay as they are, with their doubts. `words`: the
/// command's, with a name for each run. Throws Error as the command does.
std::string diffOn(LoadedRun& a, LoadedRun& b, const std::vector<std::string>& words,
                   ReportFormat format);

}  // namespace pipetrace
