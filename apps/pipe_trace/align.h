#pragma once

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace align`: puts the clocks of a run's hosts right, says how, and writes profiles.
/// argv[0] is passed over. Returns the exit code; throws Error for 2.
int alignCommand(int argc, char** argv, const TraceReaders& readers);

/// Declares the arguments of the command, for help texts and completions.
void describeAlign(CommandApp& app);

}  // namespace pipetrace
