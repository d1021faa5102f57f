#pragma once

#include <optional>

namespace pipetrace {

/// How many columns standard output has; nothing if it is no terminal.
std::optional<int> terminalColumns();

/// How wide a chart in characters is when nobody says it: the terminal's columns; without a
/// terminal those that the variable COLUMNS names, else 100. In the range that textChart() takes.
int lineColumns();

/// Whether standard output is a terminal that shows colours and the user wants them: NO_COLOR is
/// not set (https://no-color.org), TERM is not "dumb".
bool showsColors();

}  // namespace pipetrace
