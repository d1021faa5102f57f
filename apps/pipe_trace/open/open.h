#pragma once

namespace pipetrace {

class CommandApp;

/// `pipe-trace open`: serves a profile to Perfetto's UI. argv[0] is passed over. Returns the exit
/// code; throws Error for 2.
int openCommand(int argc, char** argv);

/// Declares the arguments of the command, for help texts and completions.
void describeOpen(CommandApp& app);

}  // namespace pipetrace
