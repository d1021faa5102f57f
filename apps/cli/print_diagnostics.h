#pragma once

#include "trace/diagnostic.h"

namespace pipetrace {

/// Prints diagnosticLines() to standard error.
void printDiagnostics(const Diagnostics& diagnostics, Severity lowest);

}  // namespace pipetrace
