#pragma once

#include <string>

#include "apps/cli/program.h"

namespace pipetrace {

/// The manual page of `program` in the `man` macros of roff. `version` is "pipe-trace 1.0".
std::string manPage(const Program& program, const std::string& version);

}  // namespace pipetrace
