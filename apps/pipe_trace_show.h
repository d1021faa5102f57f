#pragma once

namespace pipetrace {

/// `pipe-trace show`: prints a step of a run as a chart in characters. argv[0] is passed over.
/// Returns the exit code; throws Error for 2.
int showCommand(int argc, char** argv);

}  // namespace pipetrace
