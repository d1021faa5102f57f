#pragma once

#include "parser/foreign/foreign_trace.h"

namespace pipetrace {

/// Whether it is the trace that MegatronApp's script makes of the files of all ranks: processes are
/// numbers, and jobs name their position in the pipeline (`pp_rank`).
bool isMegatronTrace(const ForeignTrace& trace);

/// Makes each process the rank with its number.
void placeMegatronTrace(ForeignTrace& trace);

}  // namespace pipetrace
