#pragma once

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/kineto_trace.h"
#include "parser/foreign/names/name_table.h"

namespace pipetrace {

/// Finds out by its content which program wrote a trace. Gives each lane and process of it a rank
/// and a name, and its events their kinds and numbers. `given` (--kinds) may be
/// null.
///
/// In a trace of an unknown program, processes are ranks in their order, and threads are lanes. The
/// only thread of a rank that holds compute jobs, and nothing else, is the compute lane.
void placeForeignTrace(ForeignTrace& trace, const KinetoInfo& kineto, const NameTable* given);

}  // namespace pipetrace
