#pragma once

#include <string>
#include <vector>

#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/outputs/report_outputs.h"

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace report`: why ranks were idle.
void describeReport(CommandApp& app);
int reportCommand(int argc, char** argv, const TraceReaders& readers);

/// The report on a run that was read, with its doubts. `words`: the command's, with all that said
/// how the run was read. Throws Error as the command does.
std::string reportOn(const LoadedRun& run, const std::vector<std::string>& words,
                     ReportFormat format);

}  // namespace pipetrace
