#pragma once

#include <QSize>
#include <functional>
#include <ostream>
#include <vector>

#include "viewer/window/main_window.h"

namespace pipetrace {

/// A picture of the window: of the documentation, of a test, or of both.
struct WindowPicture {
  const char* name;
  QSize size;
  bool isInDocs;  ///< else it is for tests only
  bool isScaled;  ///< tests also compare it at 1.5 and 2 pixels a pixel
  /// Brings the window into the state to draw, as a user would: with keys and the mouse. Returns
  /// what is drawn: the window, or a dialog of it.
  std::function<QWidget*(MainWindow&)> prepare;
};

/// In messages of tests.
inline void PrintTo(const WindowPicture& picture, std::ostream* out) { *out << picture.name; }

/// All of them. To add one, add a line.
const std::vector<WindowPicture>& windowPictures();

}  // namespace pipetrace
