#pragma once

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace info`: prints what is in logs and profiles. argv[0] is passed over. Returns the exit
/// code; throws Error for 2.
int infoCommand(int argc, char** argv, const TraceReaders& readers);

/// Declares the arguments of the command, for help texts and completions.
void describeInfo(CommandApp& app);

}  // namespace pipetrace
