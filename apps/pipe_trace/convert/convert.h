#pragma once

namespace pipetrace {

class CommandApp;
class TraceReaders;
struct Program;

/// pipe-trace without a command: reads the inputs, writes the outputs (all or none), and prints the
/// summary. argv[0] is passed over. `program` has the commands that a word may be meant as. Returns
/// the exit code, 0 or 1; throws Error for 2.
int convertCommand(int argc, char** argv, const Program& program, const TraceReaders& readers);

/// Declares its arguments, for help texts and completions.
void describeConvert(CommandApp& app, const Program& program);

}  // namespace pipetrace
