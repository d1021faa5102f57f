#pragma once

#include <QString>

#include "chart/colors/theme.h"

namespace pipetrace {

/// The name of a theme in menus and lists. An ampersand stands before the letter that chooses it.
QString themeText(ThemeName theme);

}  // namespace pipetrace
