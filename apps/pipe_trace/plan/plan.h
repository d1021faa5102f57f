#pragma once

namespace CLI {
class App;
}

namespace pipetrace {

/// `pipe-trace plan`: builds or reads a plan, checks, simulates and draws it. argv[0] is passed
/// over. Returns the exit code; throws Error for 2.
int planCommand(int argc, char** argv);

/// Declares its arguments, for whoever wants to know them.
void describePlan(CLI::App& app);

}  // namespace pipetrace
