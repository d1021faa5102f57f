#pragma once

namespace CLI {
class App;
}

namespace pipetrace {

/// `pipe-trace show`: prints a step of a run as a chart in characters. argv[0] is passed over.
/// Returns the exit code; throws Error for 2.
int showCommand(int argc, char** argv);

/// Declares its arguments, for whoever wants to know them.
void describeShow(CLI::App& app);

}  // namespace pipetrace
