#include "viewer/paint/row_tiles.h"

#include <QImage>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <system_error>

#include "chart/draw/draw_chart.h"
#include "chart/draw/draw_folded.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {

namespace {

/// Draws a part of a chart on an image, as a QtCanvas does. Where a pixel of the chart is one of
/// the image, it sets the pixels of jobs itself, which is several times faster.
class TileCanvas final : public Canvas {
 public:
  /// The pixel (0, 0) of `image`, which is opaque, is `origin` of the chart. `painter` paints on
  /// the image in the chart's pixels. All must outlive the canvas.
  TileCanvas(QImage& image, QPoint origin, QPainter& painter, FontCache& fonts);

  bool hasPixels() const override { return true; }
  void fill(PixelRect rect, Color color) override;
  void hatch(PixelRect rect, const Hatching& hatching) override { painted_.hatch(rect, hatching); }
  void columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) override;
  void text(PixelRect box, std::string_view text, const TextStyle& style) override {
    painted_.text(box, text, style);
  }
  int textWidth(std::string_view text, const TextStyle& style) override {
    return painted_.textWidth(text, style);
  }
  void line(std::span<const PixelPoint> points, const Stroke& stroke) override {
    painted_.line(points, stroke);
  }
  void curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) override {
    painted_.curve(points, stroke);
  }
  void polygon(std::span<const PixelPoint> corners, Color color) override {
    painted_.polygon(corners, color);
  }
  void veil(PixelRect rect, Color color, double opacity) override {
    painted_.veil(rect, color, opacity);
  }
  void pushClip(PixelRect rect) override;
  void popClip() override;

 private:
  QRgb* line(int y) { return lines_ + static_cast<std::ptrdiff_t>(y - origin_.y()) * stride_; }

  QtCanvas painted_;
  QRgb* lines_ = nullptr;
  std::ptrdiff_t stride_ = 0;  // pixels from line to line
  QPoint origin_;
  std::vector<QRect> clips_;  // in the chart's pixels
};

QRgb toRgb(Color color) { return qRgb(color.red, color.green, color.blue); }

TileCanvas::TileCanvas(QImage& image, QPoint origin, QPainter& painter, FontCache& fonts)
    : painted_(painter, fonts),
      lines_(reinterpret_cast<QRgb*>(image.bits())),
      stride_(image.bytesPerLine() / static_cast<qsizetype>(sizeof(QRgb))),
      origin_(origin),
      clips_{QRect(origin, image.size())} {}

void TileCanvas::fill(PixelRect rect, Color color) {
  const QRect seen = QRect(rect.x, rect.y, rect.width, rect.height) & clips_.back();
  if (seen.isEmpty()) return;
  for (int y = seen.top(); y <= seen.bottom(); ++y) {
    std::fill_n(line(y) + (seen.left() - origin_.x()), seen.width(), toRgb(color));
  }
}

void TileCanvas::columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) {
  const QRect clip = clips_.back();
  for (const Column& column : columns) {
    if (column.x < clip.left() || column.x > clip.right()) continue;
    const int from = edge == ColumnEdge::kTop ? top : top + height - column.height;
    const int first = std::max(from, clip.top());
    const int last = std::min(from + column.height, clip.bottom() + 1);
    QRgb* pixel = line(first) + (column.x - origin_.x());
    for (int y = first; y < last; ++y, pixel += stride_) *pixel = toRgb(column.color);
  }
}

void TileCanvas::pushClip(PixelRect rect) {
  clips_.push_back(QRect(rect.x, rect.y, rect.width, rect.height) & clips_.back());
  painted_.pushClip(rect);
}

void TileCanvas::popClip() {
  clips_.pop_back();
  painted_.popClip();
}

constexpr int kLabelMargin = 4;    // pixels by which a label may be wider than its job, and more
constexpr int kTallest = 1 << 12;  // pixels of a row that is kept
constexpr std::size_t kMostUnseen = 128;  // tiles of rows that are out of view
constexpr double kRounding = 1e-6;

/// The pixels by which a tile of an axis with that begin has to move to the right to fit `axis`.
/// Nothing if its pixels do not lie on those of `axis`.
std::optional<int> shiftOf(const TimeAxis& axis, Nanoseconds begin) {
  if (axis.span() % axis.width() != 0)
    return begin == axis.begin() ? std::optional(0) : std::nullopt;
  const Nanoseconds pixel = axis.span() / axis.width();
  const Nanoseconds distance = begin - axis.begin();
  if (distance % pixel != 0 || std::abs(distance / pixel) >= axis.width()) return std::nullopt;
  return static_cast<int>(distance / pixel);
}

void shift(QImage& image, int pixels) {
  const auto bytes = static_cast<std::size_t>(image.width() - std::abs(pixels)) * sizeof(QRgb);
  for (int y = 0; y < image.height(); ++y) {
    auto* const line = reinterpret_cast<QRgb*>(image.scanLine(y));
    std::memmove(line + std::max(pixels, 0), line + std::max(-pixels, 0), bytes);
  }
}

/// Adds the pixels of the event that reaches across the instant `time`: its label stands in the
/// middle of what is in view.
template <typename Add>
void addEventAt(const LaneIndex& lane, Nanoseconds time, const TimeAxis& axis, const Add& add) {
  for (std::size_t i = lane.firstEndingAfter(time - 1); i < lane.size(); ++i) {
    if (lane.beginOf(i) > time) break;
    add(axis.xOf(lane.beginOf(i)), axis.xOf(lane.endOf(i)) + 1);
    if (lane.endOf(i) > time) break;
  }
}

}  // namespace

void RowTiles::paint(QPainter& painter, const ChartView& view, FontCache& fonts) {
  const QTransform device = painter.deviceTransform();
  ++frame_;
  drawnWidth_ = 0;
  jobs_.clear();
  const std::vector<RowInView> rows = view.rowsInView();
  for (const RowInView& each : rows) {
    if (each.row->showsLanes() && each.place.height > 0) addJob(view, each.row->row, device);
  }
  threads_.run(jobs_.size(), fonts, [&](std::size_t i, FontCache& own) {
    if (jobs_[i].tile != nullptr) draw(jobs_[i], view, device, own);
  });
  QtCanvas canvas(painter, fonts);
  auto job = jobs_.begin();
  for (const bool isPinned : {true, false}) {
    canvas.pushClip(view.clipOf(isPinned));
    for (const RowInView& each : rows) {  // the pinned ones are the first
      if (each.isPinned != isPinned || each.place.height <= 0) continue;
      if (each.row->showsLanes()) {
        show(*job++, painter, canvas, view);
      } else {
        drawRowWithoutLanes(canvas, view, *each.row, each.place);
      }
    }
    canvas.popClip();
  }
  if (view.layout.pinnedCount() > 0) drawPinnedEdge(canvas, view);
  dropUnseen();
}

/// Puts a row in its place.
void RowTiles::show(const Job& job, QPainter& painter, Canvas& canvas, const ChartView& view) {
  for (const Range& range : job.ranges) drawnWidth_ += range.to - range.from;
  if (job.tile == nullptr) return drawRow(canvas, view, job.row, 0, view.area.width);
  // Tiles have the pixels of the device.
  const QTransform device = painter.deviceTransform();
  if (device.type() <= QTransform::TxTranslate) {
    painter.drawImage(job.origin - QPointF(device.dx(), device.dy()), job.tile->image);
    return;
  }
  const QTransform world = painter.worldTransform();
  const QTransform whole = QTransform::fromTranslate(job.origin.x(), job.origin.y());
  painter.setWorldTransform(whole * device.inverted() * world);
  // Half a pixel at an edge is not the row's.
  painter.drawImage(job.covered.topLeft(), job.tile->image, job.covered);
  painter.setWorldTransform(world);
}

/// Finds the tile of a row, and what of it has to be painted.
void RowTiles::addJob(const ChartView& view, std::size_t row, const QTransform& device) {
  const TimeAxis& axis = view.axis;
  const RowPlace& place = view.layout[row];
  const QRectF box =
      device.mapRect(QRectF(view.area.x, view.yOf(place.top), view.area.width, place.height));
  const QPoint origin(static_cast<int>(std::floor(box.left() + kRounding)),
                      static_cast<int>(std::floor(box.top() + kRounding)));
  const QPoint first(qRound(box.left()), qRound(box.top()));
  const QPoint last(qRound(box.right()) - 1, qRound(box.bottom()) - 1);
  Job job{row, nullptr, origin, QRect(first, last).translated(-origin), {}};
  if (place.height > kTallest || device.type() > QTransform::TxScale) {
    job.ranges.push_back({0, axis.width()});
    jobs_.push_back(std::move(job));
    return;
  }
  const ChartRow& contents = view.model.rows()[row];
  // All that tells where an edge falls on pixels of the device.
  const QTransform transform(device.m11(), 0, 0, device.m22(), box.left() - origin.x(),
                             box.top() - origin.y());
  const QSize size(static_cast<int>(std::ceil(box.right() - kRounding)) - origin.x(),
                   static_cast<int>(std::ceil(box.bottom() - kRounding)) - origin.y());
  Tile& tile = tiles_[&contents];
  job.tile = &tile;
  const bool isAlike = tile.image.size() == size && qFuzzyCompare(tile.transform, transform) &&
                       tile.span == axis.span() && tile.width == axis.width() &&
                       tile.height == place.height;
  const std::optional<int> moved = isAlike ? shiftOf(axis, tile.begin) : std::nullopt;
  const double onDevice = moved.value_or(0) * device.m11();
  if (!moved || std::abs(onDevice - std::round(onDevice)) > kRounding) {
    if (tile.image.size() != size) tile.image = QImage(size, QImage::Format_RGB32);
    job.ranges.push_back({0, axis.width()});
  } else if (*moved != 0) {
    shift(tile.image, static_cast<int>(std::lround(onDevice)));
    const auto add = [&](int from, int to) {
      const Range range{std::max(from - kLabelMargin, 0),
                        std::min(to + kLabelMargin, axis.width())};
      if (range.from < range.to) job.ranges.push_back(range);
    };
    *moved > 0 ? add(0, *moved) : add(axis.width() + *moved, axis.width());
    const Nanoseconds oldEnd = tile.begin + tile.span;
    for (const auto* lanes : {&contents.lanes, &contents.bubbles}) {
      for (const LaneIndex& lane : *lanes) {
        for (const Nanoseconds edge : {tile.begin, oldEnd, axis.begin(), axis.end()}) {
          addEventAt(lane, edge, axis, add);
        }
      }
    }
    // Ranges that touch become one.
    std::sort(job.ranges.begin(), job.ranges.end(),
              [](const Range& a, const Range& b) { return a.from < b.from; });
    std::vector<Range> joined;
    for (const Range& range : job.ranges) {
      if (!joined.empty() && range.from <= joined.back().to) {
        joined.back().to = std::max(joined.back().to, range.to);
      } else {
        joined.push_back(range);
      }
    }
    job.ranges = std::move(joined);
  }
  tile.transform = transform;
  tile.begin = axis.begin();
  tile.span = axis.span();
  tile.width = axis.width();
  tile.height = place.height;
  tile.frame = frame_;
  jobs_.push_back(std::move(job));
}

void RowTiles::draw(const Job& job, const ChartView& view, const QTransform& device,
                    FontCache& fonts) {
  if (job.ranges.empty()) return;
  QPainter painter(&job.tile->image);
  painter.setTransform(device * QTransform::fromTranslate(-job.origin.x(), -job.origin.y()));
  const bool isWhole = device.type() <= QTransform::TxTranslate;
  for (const Range& range : job.ranges) {
    if (isWhole) {
      const QPoint origin(view.area.x, view.yOf(view.layout[job.row].top));
      TileCanvas canvas(job.tile->image, origin, painter, fonts);
      drawRow(canvas, view, job.row, range.from, range.to);
    } else {
      QtCanvas canvas(painter, fonts);
      drawRow(canvas, view, job.row, range.from, range.to);
    }
  }
}

/// Forgets the tiles of rows that are out of view, if they are many.
void RowTiles::dropUnseen() {
  if (tiles_.size() < jobs_.size() + kMostUnseen) return;
  std::erase_if(tiles_, [this](const auto& tile) { return tile.second.frame != frame_; });
}

namespace {

constexpr unsigned kMostThreads = 8;

}  // namespace

TileThreads::TileThreads() {
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  try {
    for (unsigned i = 1; i < cores; ++i) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    // Fewer threads do the work.
  }
}

TileThreads::~TileThreads() {
  {
    const std::lock_guard lock(mutex_);
    isOver_ = true;
  }
  begins_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

/// Takes a part and paints it with the lock open. False: there is none.
bool TileThreads::takePart(std::unique_lock<std::mutex>& lock, FontCache& fonts) {
  if (next_ == parts_) return false;
  const std::size_t part = next_++;
  const Paint& paint = *paint_;
  lock.unlock();
  paint(part, fonts);
  lock.lock();
  if (--left_ == 0) ends_.notify_one();
  return true;
}

void TileThreads::serve() {
  FontCache fonts;
  std::unique_lock lock(mutex_);
  while (true) {
    begins_.wait(lock, [this] { return isOver_ || next_ < parts_; });
    if (isOver_) return;
    while (takePart(lock, fonts)) {
    }
  }
}

void TileThreads::run(std::size_t parts, FontCache& fonts, const Paint& paint) {
  if (parts == 0) return;
  std::unique_lock lock(mutex_);
  paint_ = &paint;
  parts_ = left_ = parts;
  next_ = 0;
  if (parts > 1) begins_.notify_all();
  while (takePart(lock, fonts)) {
  }
  ends_.wait(lock, [this] { return left_ == 0; });
  parts_ = next_ = 0;
}

}  // namespace pipetrace
