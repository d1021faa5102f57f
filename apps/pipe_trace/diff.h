#pragma once

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace diff`: what differs between two runs.
void describeDiff(CommandApp& app);
int diffCommand(int argc, char** argv, const TraceReaders& readers);

}  // namespace pipetrace
