#pragma once

namespace pipetrace {

class CommandApp;

/// `pipe-trace plan`: builds or reads a plan, checks, simulates and draws it. argv[0] is passed
/// over. Returns the exit code; throws Error for 2.
int planCommand(int argc, char** argv);

/// Declares the arguments of the command, for help texts and completions.
void describePlan(CommandApp& app);

}  // namespace pipetrace
