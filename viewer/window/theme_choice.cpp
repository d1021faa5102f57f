#include "viewer/window/theme_choice.h"

#include <QApplication>
#include <QEvent>
#include <QPalette>
#include <QSettings>
#include <QToolTip>
#include <array>
#include <utility>

#include "viewer/paint/qt_canvas.h"
#include "viewer/words/theme_words.h"

namespace pipetrace {
namespace {

constexpr const char* kThemeKey = "theme";
constexpr const char* kBrightnessKey = "brightness";
constexpr std::array<const char*, 3> kBrightnessNames = {"desktop", "light", "dark"};

QSettings settings() { return QSettings("PipeTrace", "pipe-view"); }

/// The palette of the program's windows. The chart's own colours are the theme's.
QPalette paletteOf(const Theme& theme) {
  const QColor paper = toQColor(theme.paper);
  const QColor ink = toQColor(theme.ink);
  const QColor faint = toQColor(theme.faintInk);
  const QColor window = theme.isDark ? QColor(38, 41, 47) : QColor(240, 241, 243);
  const QColor button = theme.isDark ? QColor(52, 56, 63) : QColor(240, 241, 243);
  QPalette palette(button, window);
  for (const auto role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText}) {
    palette.setColor(role, ink);
    palette.setColor(QPalette::Disabled, role,
                     theme.isDark ? faint.darker(140) : faint.lighter(150));
  }
  palette.setColor(QPalette::Base, paper);
  palette.setColor(QPalette::AlternateBase, toQColor(theme.rowShade));
  palette.setColor(QPalette::ToolTipBase, theme.isDark ? button : paper);
  palette.setColor(QPalette::PlaceholderText, faint);
  palette.setColor(QPalette::Highlight, QColor(48, 104, 184));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Link, theme.isDark ? QColor(120, 176, 255) : QColor(28, 92, 190));
  palette.setColor(QPalette::LinkVisited, palette.color(QPalette::Link));
  return palette;
}

}  // namespace

bool isDesktopDark() {
  // Qt has no question for it before 6.5.
  QApplication::setPalette(QPalette());
  const QPalette palette = QApplication::palette();
  return palette.color(QPalette::Window).lightness() <
         palette.color(QPalette::WindowText).lightness();
}

ThemeChoice::ThemeChoice(QObject* parent, std::function<bool()> askDesktop)
    : QObject(parent), askDesktop_(std::move(askDesktop)) {
  const QString theme = settings().value(kThemeKey).toString();
  name_ = themeNamed(theme.toStdString()).value_or(ThemeName::kPaper);
  const QString brightness = settings().value(kBrightnessKey).toString();
  for (std::size_t i = 0; i < kBrightnessNames.size(); ++i) {
    if (brightness == kBrightnessNames[i]) brightness_ = static_cast<Brightness>(i);
  }
  apply();
  qApp->installEventFilter(this);  // the desktop may change
}

void ThemeChoice::choose(ThemeName name) {
  name_ = name;
  settings().setValue(kThemeKey, QString::fromUtf8(nameOf(name).data()));
  emit changed();
}

void ThemeChoice::choose(Brightness brightness) {
  brightness_ = brightness;
  settings().setValue(kBrightnessKey, kBrightnessNames[static_cast<std::size_t>(brightness)]);
  apply();
  emit changed();
}

void ThemeChoice::apply() {
  isApplying_ = true;
  isDark_ = brightness_ == Brightness::kDesktop ? askDesktop_() : brightness_ == Brightness::kDark;
  const QPalette palette = paletteOf(theme());
  QApplication::setPalette(palette);
  if (isDark_) {
    // The style's frame of a field is darker than the window: it would not be seen.
    QPalette fields = palette;
    fields.setColor(QPalette::Base, palette.color(QPalette::Button));
    for (const char* widget : {"QLineEdit", "QAbstractSpinBox"}) {
      QApplication::setPalette(fields, widget);
    }
  }
  QToolTip::setPalette(palette);
  isApplying_ = false;
}

bool ThemeChoice::eventFilter(QObject* watched, QEvent* event) {
  const bool isNews = event->type() == QEvent::ThemeChange && !isApplying_;
  if (isNews && brightness_ == Brightness::kDesktop) {
    const bool wasDark = isDark_;
    apply();
    if (isDark_ != wasDark) emit changed();
  }
  return QObject::eventFilter(watched, event);
}

template <typename Choice>
void ThemeChoice::addAction(QMenu& menu, QActionGroup& group, const char* name, const QString& text,
                            Choice choice, bool isChosen) {
  QAction* action = menu.addAction(text);
  action->setObjectName(QString::fromUtf8(name));
  action->setCheckable(true);
  action->setChecked(isChosen);
  group.addAction(action);
  connect(action, &QAction::triggered, this, [this, choice] { choose(choice); });
}

void ThemeChoice::addTo(QMenu& menu) {
  auto* themes = new QActionGroup(&menu);
  for (int i = 0; i < kThemeCount; ++i) {
    const auto theme = static_cast<ThemeName>(i);
    const std::string name = "theme-" + std::string(nameOf(theme));
    addAction(menu, *themes, name.c_str(), themeText(theme), theme, theme == name_);
  }
  menu.addSeparator();
  auto* forms = new QActionGroup(&menu);
  const auto addForm = [&](const char* name, const QString& text, Brightness brightness) {
    addAction(menu, *forms, name, text, brightness, brightness == brightness_);
  };
  addForm("brightness-desktop", tr("Like the &desktop"), Brightness::kDesktop);
  addForm("brightness-light", tr("&Light"), Brightness::kLight);
  addForm("brightness-dark", tr("Da&rk"), Brightness::kDark);
}

}  // namespace pipetrace
