#pragma once

#include <QString>

#include "chart/colors/theme.h"

namespace pipetrace {

/// What menus and lists call a theme. An ampersand stands before the letter that chooses it.
QString themeText(ThemeName theme);

}  // namespace pipetrace
