#pragma once

namespace pipetrace {

class CommandApp;

/// `pipe-run rehearse`: runs the rehearsal, and prints its figures beside the plan's. argv[0] is
/// passed over. Returns the exit code: 0, 1, or 128 + n after signal n; throws Error for 2.
int rehearseCommand(int argc, char** argv);

/// Declares the arguments of the command, for help texts and completions.
void describeRehearse(CommandApp& app);

}  // namespace pipetrace
