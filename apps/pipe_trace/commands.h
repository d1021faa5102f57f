#pragma once

#include "apps/cli/program.h"

namespace pipetrace {

/// pipe-trace: without a command it reads INPUT.
const Program& pipeTrace();

}  // namespace pipetrace
