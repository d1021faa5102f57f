#pragma once

#include <QImage>
#include <QPainter>
#include <QTransform>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "chart/chart_view.h"
#include "chart/draw/canvas.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {

/// Threads that paint parts of a frame. They stay from frame to frame, because each has fonts of
/// its own.
class TileThreads {
 public:
  using Paint = std::function<void(std::size_t part, FontCache& fonts)>;

  /// Starts a thread for each core but the one that calls run().
  TileThreads();
  ~TileThreads();
  TileThreads(const TileThreads&) = delete;
  TileThreads& operator=(const TileThreads&) = delete;

  /// Calls `paint` with each number below `parts`, in no particular order, and waits for all calls.
  /// The calling thread takes part, with `fonts`. `paint` must not throw.
  void run(std::size_t parts, FontCache& fonts, const Paint& paint);

 private:
  void serve();
  bool takePart(std::unique_lock<std::mutex>& lock, FontCache& fonts);

  std::mutex mutex_;
  std::condition_variable begins_;
  std::condition_variable ends_;
  const Paint* paint_ = nullptr;
  std::size_t parts_ = 0;
  std::size_t next_ = 0;  // part to take
  std::size_t left_ = 0;  // parts that are not finished
  bool isOver_ = false;
  std::vector<std::thread> threads_;
};

/// Paints the rows of a chart, pixel by pixel as drawRows() does. Each row of lanes in view is kept
/// as an image, its tile. A row that only moves is not painted again, and one that is panned is
/// painted only where something new comes into view. New tiles are painted on all cores. Folded
/// rows, headers and counters have no tiles. For the GUI thread.
class RowTiles {
 public:
  /// Paints the rows of `view` on `painter`, which may have any scale (high-DPI).
  void paint(QPainter& painter, const ChartView& view, FontCache& fonts);

  /// Forgets all tiles. Needed when rows would be painted differently although zoom, position,
  /// scale and height are the same: for a new model, new colours, new fonts.
  void clear() { tiles_.clear(); }

  /// How many pixels of rows the last paint() drew: the sum of their widths.
  std::int64_t drawnWidth() const { return drawnWidth_; }

 private:
  struct Range {  // pixels of the axis
    int from = 0;
    int to = 0;
  };
  /// A painted row. It is of use as long as nothing here but `begin` changes.
  struct Tile {
    QImage image;
    QTransform transform;   // from the chart's pixels to those of the image, but for whole pixels
    Nanoseconds begin = 0;  // of the axis
    Nanoseconds span = 0;
    int width = 0;
    int height = 0;
    std::uint64_t frame = 0;  // in which it was last seen
  };
  struct Job {
    std::size_t row = 0;
    Tile* tile = nullptr;
    QPoint origin;  // of the tile, in pixels of the device
    QRect covered;  // by the row, in pixels of the tile
    std::vector<Range> ranges;
  };

  void addJob(const ChartView& view, std::size_t row, const QTransform& device);
  static void draw(const Job& job, const ChartView& view, const QTransform& device,
                   FontCache& fonts);
  void show(const Job& job, QPainter& painter, Canvas& canvas, const ChartView& view);
  void dropUnseen();

  std::unordered_map<const ChartRow*, Tile> tiles_;
  std::vector<Job> jobs_;  // of the frame that is painted
  std::uint64_t frame_ = 0;
  std::int64_t drawnWidth_ = 0;
  TileThreads threads_;
};

}  // namespace pipetrace
