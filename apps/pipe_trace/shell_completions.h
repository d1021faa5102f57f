#pragma once

namespace CLI {
class App;
}

namespace pipetrace {

/// `pipe-trace completions`: prints a shell's completion script. argv[0] is passed over. Returns
/// the exit code; throws Error for 2.
int completionsCommand(int argc, char** argv);

/// `pipe-trace man`: prints the manual page. Like completionsCommand().
int manCommand(int argc, char** argv);

/// Declare their arguments, for whoever wants to know them.
void describeCompletions(CLI::App& app);
void describeMan(CLI::App& app);

}  // namespace pipetrace
