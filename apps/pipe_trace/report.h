#pragma once

namespace pipetrace {

class CommandApp;
class TraceReaders;

/// `pipe-trace report`: why ranks were idle.
void describeReport(CommandApp& app);
int reportCommand(int argc, char** argv, const TraceReaders& readers);

}  // namespace pipetrace
