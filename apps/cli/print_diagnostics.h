#pragma once

#include "trace/diagnostic.h"

namespace pipetrace {

/// Prints those of at least that severity to standard error, a line each; what three files or more
/// tell alike is one line, with their ranks, or with what is the share of each.
void printDiagnostics(const Diagnostics& diagnostics, Severity lowest);

}  // namespace pipetrace
