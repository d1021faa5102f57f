#pragma once

#include "parser/foreign/foreign_trace.h"

namespace pipetrace {

/// Gives the lanes of a Kineto trace with events their ranks, names, steps and kinds, and makes the
/// lanes `compute` and `host`; see placeKinetoTrace().
void placeKinetoLanes(ForeignTrace& trace);

}  // namespace pipetrace
