#pragma once

#include <QIcon>

namespace pipetrace {

/// The icon of the program, from viewer/desktop/pipe-view.svg. Needs a QGuiApplication.
QIcon appIcon();

}  // namespace pipetrace
