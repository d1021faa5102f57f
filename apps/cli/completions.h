#pragma once

#include <string>
#include <vector>

#include "apps/cli/flag_table.h"

namespace pipetrace {

/// The shells that there are completions for: "bash", "zsh", "fish".
std::vector<std::string> completionShells();

/// A script that makes a shell complete the commands, options and values of `program`, whose tables
/// are given, the one without a command first. `shell` is one of completionShells().
std::string completionScript(const std::string& shell, const std::string& program,
                             const std::vector<FlagTable>& tables);

}  // namespace pipetrace
