#include "viewer/commands/command_groups.h"

#include <QMenu>

namespace pipetrace {
namespace {

void addCommandsOf(const QMenu& menu, QList<QAction*>& commands) {
  for (QAction* action : menu.actions()) {
    if (action->isSeparator() || action->text().isEmpty()) continue;
    if (action->menu() != nullptr) {
      addCommandsOf(*action->menu(), commands);
    } else {
      commands.push_back(action);
    }
  }
}

}  // namespace

QString plainText(const QAction& action) {
  QString text = action.text();
  text.remove('&');
  if (text.endsWith(QChar(0x2026))) text.chop(1);
  return text.trimmed();
}

QList<CommandGroup> commandGroups(const QMenuBar& menus) {
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
