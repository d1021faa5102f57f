#pragma once

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace what-if`: says how a run would be with changes. argv[0] is passed over. Returns the
/// exit code; throws Error for 2.
int whatIfCommand(int argc, char** argv, const TraceReaders& readers);

/// Declares the arguments of the command, for help texts and completions.
void describeWhatIf(CommandApp& app);

}  // namespace pipetrace
