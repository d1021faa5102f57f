#pragma once

#include <string>
#include <vector>

#include "trace/diagnostic.h"

namespace pipetrace {

/// The diagnostics of at least that severity as people read them, a line each, in order. A
/// diagnostic that three files or more share is one line, with their ranks or with the share of
/// each.
std::vector<std::string> diagnosticLines(const Diagnostics& diagnostics,
                                         Severity lowest = Severity::kNote);

}  // namespace pipetrace
