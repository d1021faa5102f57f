#pragma once

#include <string>

#include "apps/pipe_trace/inputs/load_run_options.h"

namespace pipetrace {

/// An input as a word of a command.
std::string inputWord(const std::string& input);

/// The command that shows the same run, as a shell reads it: "pipe-view logs". Empty where
/// pipe-view cannot read the inputs in the same way: from standard input, or with options that it
/// lacks.
std::string viewCommandOf(const LoadRunOptions& options);

}  // namespace pipetrace
