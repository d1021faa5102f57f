#pragma once

#include <QDialog>

#include "viewer/commands/command_groups.h"

namespace pipetrace {

/// The list of mouse buttons and keys as rich text. The keys are those of the commands.
QString keysHelp(const QList<CommandGroup>& groups);

/// A window with that list, which is deleted when it is closed.
QDialog* makeKeysHelp(const QList<CommandGroup>& groups, QWidget* parent);

}  // namespace pipetrace
