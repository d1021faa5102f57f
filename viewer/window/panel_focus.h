#pragma once

#include <QMainWindow>
#include <QWidget>

namespace pipetrace {

/// Gives the keys to the next panel of `window`, `step` 1, or to the one before, -1: the centre,
/// then the docks at the right, at the bottom tab by tab, at the left, and round again. A tab is
/// raised. Docks that are hidden are passed over. `centre`: what of the centre has the keys.
void focusPanel(QMainWindow& window, QWidget& centre, int step);

}  // namespace pipetrace
