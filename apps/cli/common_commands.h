#pragma once

#include "apps/cli/program.h"

namespace pipetrace {

/// Adds the commands that every program has, after its own: help, completions and man. They call
/// `self` for the whole program, which need not be complete yet.
void addCommonCommands(Program& program, const Program& (*self)());

/// Declares -V and --version.
void addVersion(CommandApp& app);

}  // namespace pipetrace
