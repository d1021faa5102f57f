#pragma once

#include "parser/foreign/foreign_trace.h"

namespace pipetrace {

/// Finds out by its content which program wrote a trace. Gives each lane and process of it a rank
/// and a name, and its events their kinds and numbers.
///
/// In a trace of an unknown program, processes are ranks in their order, and threads are lanes. The
/// only thread of a rank that holds compute jobs, and nothing else, is the compute lane.
void placeForeignTrace(ForeignTrace& trace);

/// Names the only lane of a rank that consists of jobs the compute lane.
void nameComputeLanes(ForeignTrace& trace);

}  // namespace pipetrace
