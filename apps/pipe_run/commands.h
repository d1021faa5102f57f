#pragma once

#include "apps/cli/program.h"

namespace pipetrace {

/// pipe-run: without a command it launches a program.
const Program& pipeRun();

}  // namespace pipetrace
