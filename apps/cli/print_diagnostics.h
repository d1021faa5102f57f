#pragma once

#include "trace/diagnostic.h"

namespace pipetrace {

/// Prints the diagnostics of at least that severity to standard error, a line each. A diagnostic
/// that three files or more share is one line, with their ranks or with the share of each.
void printDiagnostics(const Diagnostics& diagnostics, Severity lowest);

}  // namespace pipetrace
