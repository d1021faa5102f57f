#pragma once

#include <QActionGroup>
#include <QMenu>
#include <QObject>
#include <functional>

#include "chart/colors/theme.h"

namespace pipetrace {

/// Whether the program is light or dark.
enum class Brightness { kDesktop, kLight, kDark };

/// Whether the palette that the platform gives is dark. Sets the application's palette to that one.
bool isDesktopDark();

/// The colours that the user chose: the theme of charts, and light or dark for the whole program.
/// Sets the application's palette. Remembers the choice in QSettings("PipeTrace", "pipe-view"). On
/// the GUI thread.
class ThemeChoice : public QObject {
  Q_OBJECT

 public:
  /// Makes the remembered choice; at first the theme `paper`, light or dark as the desktop is.
  /// `askDesktop`: whether it is dark; asked again whenever the desktop may have changed.
  explicit ThemeChoice(QObject* parent = nullptr, std::function<bool()> askDesktop = isDesktopDark);

  const Theme& theme() const { return themeOf(name_, isDark_); }
  Brightness brightness() const { return brightness_; }
  void choose(ThemeName name);
  void choose(Brightness brightness);
  /// Appends the choices to `menu`: an action for each, named "theme-paper", "brightness-dark" ….
  void addTo(QMenu& menu);

 signals:
  /// theme() is another one.
  void changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  template <typename Choice>
  void addAction(QMenu& menu, QActionGroup& group, const char* name, const QString& text,
                 Choice choice, bool isChosen);
  void apply();

  std::function<bool()> askDesktop_;
  ThemeName name_ = ThemeName::kPaper;
  Brightness brightness_ = Brightness::kDesktop;
  bool isDark_ = false;
  bool isApplying_ = false;
};

}  // namespace pipetrace
