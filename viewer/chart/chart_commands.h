#pragma once

#include <QAction>
#include <QList>
#include <QStringList>

namespace pipetrace {

class ChartWidget;

/// Gives the chart its commands: an action for each, with its keys. Menus, the list of keys, the
/// palette and the chart's own keys come from these. QObject::objectName() is the command's name;
/// its data() is the menu it stands in.
void addCommands(ChartWidget& chart);

/// Where a chart's command stands in the menus.
enum class CommandMenu { kEdit, kView, kGo, kRows };

/// The chart's commands of a menu, in their order.
QList<QAction*> commandsOf(const ChartWidget& chart, CommandMenu menu);

/// All keys of a command, as texts: those of the action, and those that only work in the chart.
QStringList keysOf(const QAction& action);

}  // namespace pipetrace
