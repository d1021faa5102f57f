#pragma once

namespace pipetrace {

class CommandApp;

/// `pipe-trace diff`: what differs between two runs.
void describeDiff(CommandApp& app);
int diffCommand(int argc, char** argv);

}  // namespace pipetrace
