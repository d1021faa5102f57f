#pragma once

#include <string>
#include <vector>

#include "apps/pipe_trace/inputs/load_and_report.h"

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace what-if`: says how a run would be with changes. argv[0] is passed over. Returns the
/// exit code; throws Error for 2.
int whatIfCommand(int argc, char** argv, const TraceReaders& readers);

/// Declares the arguments of the command, for help texts and completions.
void describeWhatIf(CommandApp& app);

/// The answer to a question about a run that was read, as text or JSON. `words`: the command's,
/// with all that said how the run was read; no outputs. Throws Error as the command does, also
/// where there is no answer that can be trusted.
std::string whatIfOn(const LoadedRun& run, const std::vector<std::string>& words);

}  // namespace pipetrace
