#pragma once

#include <optional>

namespace pipetrace {

/// The number of columns of standard output; nothing if it is no terminal.
std::optional<int> terminalColumns();

/// The width of a chart in characters without --width: the terminal's columns; without a terminal
/// those that the variable COLUMNS names, else 100. It is in the range that textChart() takes.
int lineColumns();

/// Whether standard output is a terminal that shows colours and the user wants them: NO_COLOR is
/// not set (https://no-color.org), TERM is not "dumb".
bool showsColors();

}  // namespace pipetrace
