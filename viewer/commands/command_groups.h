#pragma once

#include <QAction>
#include <QList>
#include <QMenu>
#include <QMenuBar>
#include <QString>

namespace pipetrace {

inline void addCommandsOf(const QMenu& menu, QList<QAction*>& commands) {
  for (QAction* action : menu.actions()) {
    if (action->isSeparator() || action->text().isEmpty()) continue;
    if (action->menu() != nullptr) {
      addCommandsOf(*action->menu(), commands);
    } else {
      commands.push_back(action);
    }
  }
}

/// The commands of one menu, sub-menus included.
struct CommandGroup {
  QString title;  ///< "View"
  QList<QAction*> commands;
};

/// The text of a command without the marks of menus: "Open" for "&Open …".
inline QString plainText(const QAction& action) {
  QString text = action.text();
  text.remove('&');
  if (text.endsWith(QChar(0x2026))) text.chop(1);
  return text.trimmed();
}

/// All commands of the menus, in their order. Menus are the list of what the window can do.
inline QList<CommandGroup> commandGroups(const QMenuBar& menus) {
  QList<CommandGroup> groups;
  for (const QAction* action : menus.actions()) {
    if (action->menu() == nullptr) continue;
    CommandGroup group{plainText(*action), {}};
    addCommandsOf(*action->menu(), group.commands);
    if (!group.commands.isEmpty()) groups.push_back(group);
  }
  return groups;
}

}  // namespace pipetrace
