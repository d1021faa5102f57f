#pragma once

#include <string>
#include <vector>

#include "trace/diagnostic.h"

namespace pipetrace {

/// The diagnostics of at least that severity in order. One that three files or more share is one,
/// with their ranks or with the share of each.
std::vector<Diagnostic> joinedDiagnostics(const Diagnostics& diagnostics,
                                          Severity lowest = Severity::kNote);

/// These as people read them, a line each.
std::vector<std::string> diagnosticLines(const Diagnostics& diagnostics,
                                         Severity lowest = Severity::kNote);

}  // namespace pipetrace
