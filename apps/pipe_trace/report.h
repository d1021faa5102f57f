#pragma once

namespace pipetrace {

class CommandApp;

/// `pipe-trace report`: why ranks were idle.
void describeReport(CommandApp& app);
int reportCommand(int argc, char** argv);

}  // namespace pipetrace
