#pragma once

namespace CLI {
class App;
}

namespace pipetrace {

/// `pipe-trace open`: serves a profile to Perfetto's UI. argv[0] is passed over. Returns the exit
/// code; throws Error for 2.
int openCommand(int argc, char** argv);

/// Declares its arguments, for whoever wants to know them.
void describeOpen(CLI::App& app);

}  // namespace pipetrace
