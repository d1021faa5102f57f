#pragma once

#include <string_view>

#include "trace/diagnostic.h"

namespace pipetrace {

// Names in logs and of files may hold anything. So all that programs print for people goes through
// fitToPrint(). JSON does not: it is written with writeWholeFile("-", …).

/// Prints to standard output; throws Error if it cannot.
void printText(std::string_view text);

/// Prints to standard error, with a newline at the end if the text is not empty and has none.
void printError(std::string_view text);

/// Prints diagnosticLines() to standard error.
void printDiagnostics(const Diagnostics& diagnostics, Severity lowest);

}  // namespace pipetrace
