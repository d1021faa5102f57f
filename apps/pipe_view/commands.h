#pragma once

#include "apps/cli/program.h"

namespace pipetrace {

/// pipe-view: without a command it shows INPUT.
const Program& pipeView();

}  // namespace pipetrace
