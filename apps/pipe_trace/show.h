#pragma once

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace show`: prints a step of a run as a chart in characters. argv[0] is passed over.
/// Returns the exit code; throws Error for 2.
int showCommand(int argc, char** argv, const TraceReaders& readers);

/// Declares the arguments of the command, for help texts and completions.
void describeShow(CommandApp& app);

}  // namespace pipetrace
