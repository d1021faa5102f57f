#pragma once

#include <string>

#include "apps/pipe_trace/inputs/load_run_options.h"

namespace CLI {
class App;
}

namespace pipetrace {

/// An input as a word of a command.
std::string inputWord(const std::string& input);

/// All inputs and the options that say how they are read, as a shell reads them: for a command that
/// reads the same run. `app` has parsed the options that addLoadRunOptions() declares. Standard
/// input cannot be read twice, so it is LOGS.
std::string inputsOfCommand(const CLI::App& app, const LoadRunOptions& options);

/// The command that shows the same run, as a shell reads it: "pipe-view logs". Empty where
/// pipe-view cannot read the inputs in the same way: from standard input, or with options that it
/// lacks.
std::string viewCommandOf(const LoadRunOptions& options);

}  // namespace pipetrace
