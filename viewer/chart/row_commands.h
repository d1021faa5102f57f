#pragma once

namespace pipetrace {

class ChartWidget;

/// Gives the chart the commands of its rows (CommandMenu::kRows), which act on the current row of
/// the labels. Part of addCommands().
void addRowCommands(ChartWidget& chart);

}  // namespace pipetrace
