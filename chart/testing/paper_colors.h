#pragma once

#include "chart/colors/theme.h"

namespace pipetrace {

/// The theme that charts have by default, and its colours of runs without chunks, for tests.
inline const Theme& kPaperTheme = themeOf(ThemeName::kPaper);
inline const JobColors kPaperColors(kPaperTheme);

}  // namespace pipetrace
