#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// A table of the idle time in `span` that has a culprit, the most first: which rank waits, for
/// which rank, by what cause, for how long, and for which of its jobs longest. It says how many
/// rows it leaves out. A rank's own optimizer is left out as well. Reads the bubbles of the
/// timeline; empty where none has a culprit.
std::string waitsReport(const Timeline& timeline, Timeline::Span span);

}  // namespace pipetrace
