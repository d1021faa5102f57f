#pragma once

namespace CLI {
class App;
}

namespace pipetrace {

/// `pipe-trace info`: prints what is in logs and profiles. argv[0] is passed over. Returns the exit
/// code; throws Error for 2.
int infoCommand(int argc, char** argv);

/// Declares its arguments, for whoever wants to know them.
void describeInfo(CLI::App& app);

}  // namespace pipetrace
