#pragma once

#include <QAction>
#include <QList>
#include <QMenuBar>
#include <QString>

namespace pipetrace {

/// The commands of one menu, sub-menus included.
struct CommandGroup {
  QString title;  ///< "View"
  QList<QAction*> commands;
};

/// The text of a command without the marks of menus: "Open" for "&Open …".
QString plainText(const QAction& action);

/// All commands of the menus, in their order. Menus are the list of what the window can do.
QList<CommandGroup> commandGroups(const QMenuBar& menus);

}  // namespace pipetrace
