#pragma once

#include <functional>
#include <string>
#include <vector>

#include "viewer/window/main_window.h"

namespace pipetrace::bench {

/// The times of frames, in milliseconds.
struct FrameTimes {
  std::vector<double> wall;  ///< from the event to the end of painting
  std::vector<double> cpu;   ///< processor time of all threads
};

/// Sends real events to the chart of a shown window and waits for the end of painting each time.
class FrameDriver {
 public:
  explicit FrameDriver(MainWindow& window) : window_(window) {}

  /// Zooms at random places and pans by whole widths, so that no tile can be used again.
  FrameTimes zoomAndPan(int events);
  /// Pans by a tenth of the width.
  FrameTimes panOn(int events);
  /// Scrolls the rows by random distances.
  FrameTimes scroll(int events);
  FrameTimes hover(int events);
  FrameTimes click(int events);
  /// Zooms, pans, and shows the whole run again in turns, an event every 16 ms, while the chart
  /// grows. A frame's time is from when its event is due: it has what holds up the event loop.
  FrameTimes live(int events);

 private:
  FrameTimes time(int events, bool paints, const std::function<void(int)>& send);
  void wheel(QPoint angle, Qt::KeyboardModifiers modifiers);
  QPoint randomPoint();

  MainWindow& window_;
};

/// Prints the 99th percentiles, medians and maxima of frames. `must` and `beyond` in milliseconds;
/// 0: no goal.
void printFrames(const std::string& what, FrameTimes times, double must, double beyond);

}  // namespace pipetrace::bench
