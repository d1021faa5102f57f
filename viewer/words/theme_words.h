#pragma once

#include <QCoreApplication>
#include <QString>

#include "chart/colors/theme.h"

namespace pipetrace {

/// The name of a theme in menus and lists. An ampersand stands before the letter that chooses it.
inline QString themeText(ThemeName theme) {
  switch (theme) {
    case ThemeName::kPaper: return QCoreApplication::translate("Theme", "&Paper");
    case ThemeName::kPaddle: return QCoreApplication::translate("Theme", "P&addlePaddle");
    case ThemeName::kColourBlind: break;
  }
  return QCoreApplication::translate("Theme", "&Colour-blind safe");
}

}  // namespace pipetrace
