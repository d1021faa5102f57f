#pragma once

#include <CLI/CLI.hpp>

#include "chart/colors/theme.h"

namespace pipetrace {

/// Declares --theme and --dark, the colours of a picture, which set `theme` and `isDark`. Both need
/// `output`. The references must outlive `app`.
void addThemeOptions(CLI::App& app, CLI::Option* output, ThemeName& theme, bool& isDark);

}  // namespace pipetrace
