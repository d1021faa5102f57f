#pragma once

#include <optional>
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

/// The number of columns of standard output; nothing if it is no terminal.
std::optional<int> terminalColumns();

/// The width of a chart in characters without --width: the terminal's columns; without a terminal
/// those that the variable COLUMNS names, else 100. It is in the range that textChart() takes.
int lineColumns();

/// Whether standard output is a terminal that shows colours and the user wants them: NO_COLOR is
/// not set (https://no-color.org), TERM is not "dumb".
bool showsColors();

}  // namespace pipetrace
