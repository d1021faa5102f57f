#pragma once

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/kineto_trace.h"
#include "parser/foreign/names/kind_names.h"

namespace pipetrace {

/// Finds out by its content which program wrote a trace, gives each lane and process of it a rank
/// and a name, and its events their kinds and numbers. `asked` may be null.
///
/// Of a program that we do not know, processes are ranks in their order, and threads are lanes; the
/// only thread of a rank that holds compute jobs, and nothing but such, is the compute lane.
void placeForeignTrace(ForeignTrace& trace, const KinetoInfo& kineto, const KindNames* asked);

}  // namespace pipetrace
