#pragma once

#include <string>
#include <vector>

#include "analysis/what_if/advice.h"
#include "apps/pipe_trace/inputs/load_and_report.h"

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace advise`: says what to change in a run, and what it would bring. argv[0] is passed
/// over. Returns the exit code; throws Error for 2.
int adviseCommand(int argc, char** argv, const TraceReaders& readers);

/// Declares the arguments of the command, for help texts and completions.
void describeAdvise(CommandApp& app);

/// The advice on a run that was read. `words`: the command's, with all that said how the run was
/// read. `progress` may be null. Throws Error as the command does.
AdviceList adviceOn(const LoadedRun& run, const std::vector<std::string>& words,
                    AdviceProgress* progress);

}  // namespace pipetrace
