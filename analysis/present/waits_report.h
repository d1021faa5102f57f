#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// Returns a table of the idle time in `span` that has a culprit, the most first. A row says which
/// rank waits for which, how long, by what cause, and for which job longest. A last line counts the
/// rows that are left out. A rank's own optimizer is left out, too. Reads the bubbles of the
/// timeline; empty where none has a culprit.
std::string waitsReport(const Timeline& timeline, Timeline::Span span);

}  // namespace pipetrace
