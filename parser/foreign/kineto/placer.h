#pragma once

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/names/foreign_names.h"

namespace pipetrace {

struct KinetoInfo;

/// Gives the lanes of a Kineto trace with events their ranks, names, steps and kinds, and makes the
/// lanes `compute` and `host`; see placeKinetoTrace().
void placeKinetoLanes(ForeignTrace& trace, const KinetoInfo& info, ForeignNames& names);

}  // namespace pipetrace
