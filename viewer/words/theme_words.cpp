#include "viewer/words/theme_words.h"

#include <QCoreApplication>

namespace pipetrace {

QString themeText(ThemeName theme) {
  switch (theme) {
    case ThemeName::kPaper: return QCoreApplication::translate("Theme", "&Paper");
    case ThemeName::kPaddle: return QCoreApplication::translate("Theme", "P&addlePaddle");
    case ThemeName::kColourBlind: break;
  }
  return QCoreApplication::translate("Theme", "&Colour-blind safe");
}

}  // namespace pipetrace
