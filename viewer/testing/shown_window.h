#pragma once

#include <QTest>
#include <QToolTip>
#include <stdexcept>
#include <string>

namespace pipetrace {

/// Shows the window and gives it the keys; returns when it has them. On an X server both take a
/// while, and without a window manager nobody else gives it the keys. The server drops a request
/// for them that comes before it shows the window, so they are asked for until they come.
inline void showActive(QWidget& window) {
  constexpr int kTries = 30;
  window.show();
  for (int i = 0; i < kTries; ++i) {
    window.activateWindow();
    if (QTest::qWaitForWindowActive(&window, 1000)) return;
  }
  throw std::runtime_error("the window gets no keys");
}

/// Returns the text of the tool tip, after waiting a while for one with that part.
inline std::string awaitToolTip(const char* part) {
  const auto isThere = [part] { return QToolTip::text().contains(QString::fromUtf8(part)); };
  (void)QTest::qWaitFor(isThere, 10'000);
  return QToolTip::text().toStdString();
}

}  // namespace pipetrace
