#pragma once

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace advise`: says what to change in a run, and what it would bring. argv[0] is passed
/// over. Returns the exit code; throws Error for 2.
int adviseCommand(int argc, char** argv, const TraceReaders& readers);

/// Declares the arguments of the command, for help texts and completions.
void describeAdvise(CommandApp& app);

}  // namespace pipetrace
