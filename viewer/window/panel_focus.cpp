#include "viewer/window/panel_focus.h"

#include <QApplication>
#include <QDockWidget>
#include <QTabBar>
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace pipetrace {
namespace {

constexpr std::array kAreas = {Qt::RightDockWidgetArea, Qt::BottomDockWidgetArea,
                               Qt::LeftDockWidgetArea, Qt::TopDockWidgetArea};

/// The place of a dock among the tabs that it shares its place with; 0 without tabs.
int tabOf(const QMainWindow& window, const QDockWidget& dock) {
  for (const QTabBar* tabs : window.findChildren<QTabBar*>(Qt::FindDirectChildrenOnly)) {
    for (int i = 0; tabs->isVisible() && i < tabs->count(); ++i) {
      if (tabs->tabText(i) == dock.windowTitle()) return i;
    }
  }
  return 0;
}

std::vector<QDockWidget*> docksInOrder(const QMainWindow& window) {
  std::vector<std::pair<std::pair<std::ptrdiff_t, int>, QDockWidget*>> docks;
  for (QDockWidget* const dock : window.findChildren<QDockWidget*>()) {
    if (dock->isHidden()) continue;
    const auto* const area = std::find(kAreas.begin(), kAreas.end(), window.dockWidgetArea(dock));
    docks.push_back({{area - kAreas.begin(), tabOf(window, *dock)}, dock});
  }
  std::stable_sort(docks.begin(), docks.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<QDockWidget*> ordered;
  for (const auto& [place, dock] : docks) ordered.push_back(dock);
  return ordered;
}

/// What had the keys in it the last time, else the first widget that takes them.
QWidget* focusIn(QWidget& panel) {
  QWidget* const last = panel.focusWidget();
  const auto takesKeys = [&](const QWidget* widget) {
    return widget != nullptr && (widget == &panel || panel.isAncestorOf(widget)) &&
           (widget->focusPolicy() & Qt::TabFocus) != 0 && widget->isEnabled() &&
           widget->isVisibleTo(&panel);
  };
  if (takesKeys(last)) return last;
  QWidget* next = &panel;
  do {
    if (takesKeys(next)) return next;
    next = next->nextInFocusChain();
  } while (next != &panel);
  return &panel;
}

}  // namespace

void focusPanel(QMainWindow& window, QWidget& centre, int step) {
  const std::vector<QDockWidget*> docks = docksInOrder(window);
  if (docks.empty()) return;
  const auto count = static_cast<int>(docks.size()) + 1;  // the first is the centre
  const QWidget* const focus = QApplication::focusWidget();
  int at = 0;
  for (int i = 1; i < count; ++i) {
    if (docks[static_cast<std::size_t>(i - 1)]->isAncestorOf(focus)) at = i;
  }
  at = (at + step + count) % count;
  if (at == 0) return centre.setFocus(Qt::TabFocusReason);
  QDockWidget& dock = *docks[static_cast<std::size_t>(at - 1)];
  dock.raise();
  if (dock.isFloating()) dock.activateWindow();
  focusIn(*dock.widget())->setFocus(Qt::TabFocusReason);
}

}  // namespace pipetrace
