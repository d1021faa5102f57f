#pragma once

#include "parser/foreign/foreign_trace.h"

namespace pipetrace {

/// Whether it is the trace that MegatronApp's script makes of the files of all ranks: processes are
/// numbers, and jobs say where in the pipeline they ran (`pp_rank`).
bool isMegatronTrace(const ForeignTrace& trace);

/// Processes are ranks, with their numbers.
void placeMegatronTrace(ForeignTrace& trace);

}  // namespace pipetrace
