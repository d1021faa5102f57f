#include "chart/links/draw_path.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "chart/draw/draw_chart.h"
#include "chart/lane_piece.h"
#include "chart/links/link_colors.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

constexpr int kOutlinedFrom = 4;          // least width of a part with an outline
constexpr std::size_t kCalmParts = 2000;  // lines of more parts have no rim: it takes time
constexpr int kLeastWait = 2;             // pixels
constexpr int kTextAbove = 36;  // least height of a row with room for a wait below its texts
constexpr double kPathWidth = 2;

/// The parts of a path that the view shows, and one on each side of them.
std::span<const PathPart> inView(const ChartPath& path, const TimeAxis& axis) {
  const auto& parts = path.parts;
  auto first = std::partition_point(parts.begin(), parts.end(),
                                    [&](const PathPart& part) { return part.end < axis.begin(); });
  auto last = std::partition_point(first, parts.end(),
                                   [&](const PathPart& part) { return part.begin <= axis.end(); });
  if (first != parts.begin()) --first;
  if (last != parts.end()) ++last;
  return {first, last};
}

class PathPainter {
 public:
  PathPainter(Canvas& canvas, const ChartView& view, bool hasHalo)
      : canvas_(canvas),
        view_(view),
        colors_(linkColorsOf(view.model)),
        line_{colors_.path, kPathWidth},
        halo_{colors_.paper, kPathWidth + 2, 0.8},
        hasHalo_(hasHalo) {}

  void paint(std::span<const PathPart> parts) {
    bool isFirst = true;
    for (const PathPart& part : parts) {
      if (part.spot.event == nullptr) continue;
      const EventBox box = boxOf(view_, part.spot, part.begin, part.end);
      if (box.side == RowSide::kNotShown || isShortMessage(part, box)) continue;
      const PixelRect& rect = box.rect;
      const double middle = box.middleY();
      const auto waitFrom = static_cast<double>(
          std::clamp(view_.xOf(part.begin - part.wait), view_.area.x - kBeyond, rect.x));
      const bool isWait = rect.x - waitFrom >= kLeastWait;
      if (!isFirst) connect(rect, isWait ? waitHeight(rect) : middle, waitFrom);
      if (isWait) paintWait(part, rect, waitFrom);
      isFirst = false;
      last_ = rect;
      if (rect.width >= kOutlinedFrom) {
        flush();
        outline(rect);
      } else {
        go({rect.x + 0.5, middle});
      }
    }
    flush();
  }

 private:
  /// Whether a way over the row of a message would only be a hook in the line.
  static bool isShortMessage(const PathPart& part, const EventBox& box) {
    return isTransfer(part.spot.event->kind) && box.rect.width < kOutlinedFrom;
  }

  /// The height of the line of a wait: below the texts of bubbles.
  static double waitHeight(const PixelRect& rect) {
    return rect.height < kTextAbove ? rect.y + rect.height / 2.0 : rect.bottom() - 5.0;
  }

  /// From the part before to where this one begins to wait, which is at that height.
  void connect(const PixelRect& rect, double height, double waitFrom) {
    if (points_.empty()) {
      const double x = last_.right() - (last_.width >= kOutlinedFrom ? 1.0 : 0.5);
      const bool isDown = rect.y > last_.y;
      const double from = last_.width < kOutlinedFrom ? last_.y + last_.height / 2.0
                          : isDown                    ? last_.bottom()
                                                      : last_.y;
      if (last_.y == rect.y && waitFrom - x < 2 && rect.width >= kOutlinedFrom) return;
      go({x, last_.y == rect.y ? height : from});
    }
    const bool isAlone = rect.width >= kOutlinedFrom && waitFrom >= rect.x && rect.y != last_.y;
    go({waitFrom + (isAlone ? 1 : 0.5), !isAlone           ? height
                                        : rect.y > last_.y ? rect.y
                                                           : rect.bottom()});
  }

  void paintWait(const PathPart& part, const PixelRect& rect, double from) {
    flush();
    const double height = waitHeight(rect);
    const std::array<PixelPoint, 2> line = {PixelPoint{from, height},
                                            PixelPoint{static_cast<double>(rect.x), height}};
    if (hasHalo_) canvas_.line(line, halo_);
    canvas_.line(line, {colors_.path, kPathWidth, 1, true});
    const std::string text = part.waitWords + " " + formatDuration(part.wait);
    const TextStyle style{9, false, colors_.path, TextAlign::kCenter};
    const int width = canvas_.textWidth(text, style) + 6;
    const int left = std::max(static_cast<int>(from), view_.area.x);
    const int right = std::min(rect.x, view_.area.right());
    if (right - left < width + 8 || rect.height < kTextAbove) return;
    const PixelRect box{(left + right - width) / 2, rect.bottom() - 12, width, 11};
    canvas_.fill(box, colors_.paper);
    canvas_.text(box, text, style);
  }

  void outline(const PixelRect& rect) {
    // Inside of the job, so that it is not cut off at the next one. Whole pixels are cheap to draw.
    constexpr int kFrame = 2;
    const Color color = colors_.path;
    const int inner = std::max(rect.height - 2 * kFrame, 0);
    canvas_.fill({rect.x, rect.y, rect.width, kFrame}, color);
    canvas_.fill({rect.x, rect.bottom() - kFrame, rect.width, kFrame}, color);
    canvas_.fill({rect.x, rect.y + kFrame, kFrame, inner}, color);
    canvas_.fill({rect.right() - kFrame, rect.y + kFrame, kFrame, inner}, color);
  }

  void go(const PixelPoint& to) {
    if (!points_.empty() && points_.back().x == to.x && points_.back().y == to.y) return;
    points_.push_back(to);
  }

  void flush() {
    if (points_.size() > 1) {
      if (hasHalo_) canvas_.line(points_, halo_);
      canvas_.line(points_, line_);
    }
    points_.clear();
  }

  Canvas& canvas_;
  const ChartView& view_;
  LinkColors colors_;
  Stroke line_;
  Stroke halo_;
  bool hasHalo_;
  PixelRect last_;
  std::vector<PixelPoint> points_;
};

constexpr int kLeastWidth = 6;    // of a job that gets paler
constexpr double kPalest = 0.72;  // opacity of the veil over a job with endless slack
constexpr int kNamedFrom = 30;    // least height of a row in which jobs name their slack

class SlackPainter {
 public:
  SlackPainter(Canvas& canvas, const ChartView& view, const SlackOf& slackOf)
      : canvas_(canvas),
        view_(view),
        slackOf_(slackOf),
        colors_(linkColorsOf(view.model)),
        labels_(canvas, view),
        style_{9, false, {}, TextAlign::kCenter} {}

  void paint(std::size_t row) {
    const ChartRow& lanes = view_.model.rows()[row];
    for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
      pieces_.clear();
      cutIntoPieces(lanes.lanes[i], view_.axis, pieces_);
      const RowPlace place = RowLayout::subLane(view_.layout[row], i, lanes.lanes.size());
      for (const LanePiece& piece : pieces_) {
        if (piece.isColumn || piece.right - piece.left < kLeastWidth) continue;
        const Event& job = lanes.lanes[i][piece.first];
        if (isCompute(job.kind)) veil(job, slackOf_(row, job), piece, place);
      }
    }
  }

 private:
  void veil(const Event& job, Nanoseconds slack, const LanePiece& piece, const RowPlace& place) {
    if (slack <= 0) return;
    // The same pixels as those that rows fill and label: else a number that just fits would go.
    const bool hasPixels = canvas_.hasPixels();
    const int left = std::max(piece.left, 0);
    const bool leavesPixel = !hasPixels && piece.right <= view_.area.width;
    const int right = std::min(piece.right, view_.area.width) - (leavesPixel ? 1 : 0);
    if (right <= left) return;
    const auto usual = static_cast<double>(std::max<Nanoseconds>(view_.model.typicalJob(), 1));
    const auto time = static_cast<double>(slack);
    const PixelRect rect{view_.area.x + left, view_.yOf(place.top), right - left, place.height};
    const double opacity = kPalest * time / (time + usual);
    canvas_.veil(rect, colors_.paper, opacity);
    // White letters would fade with the colour below them.
    const Color ground = mix(view_.model.colors().of(job), colors_.paper,
                             static_cast<int>(std::lround(256 * opacity)));
    const int edge = hasPixels ? 1 : 0;  // the pixel that a job may share with the one before
    const PixelRect cell{rect.x + edge, rect.y, rect.width - edge, rect.height};
    if (cell.width >= kLeastWidth) labels_.draw(job, cell, ground);
    if (rect.height < kNamedFrom) return;
    const std::string text = "slack " + formatDuration(slack);
    if (canvas_.textWidth(text, style_) + 6 > rect.width) return;
    canvas_.text({rect.x, rect.bottom() - 14, rect.width, 12}, text,
                 style_.in(textColorOn(ground)));
  }

  Canvas& canvas_;
  const ChartView& view_;
  const SlackOf& slackOf_;
  LinkColors colors_;
  CellLabels labels_;
  TextStyle style_;
  std::vector<LanePiece> pieces_;
};

}  // namespace

bool drawCriticalPath(Canvas& canvas, const ChartView& view,
                      std::span<const ChartPath* const> paths, std::size_t most) {
  std::size_t count = 0;
  for (const ChartPath* path : paths) count += inView(*path, view.axis).size();
  if (count > most) return false;
  canvas.pushClip(view.area);
  for (const ChartPath* path : paths) {
    PathPainter(canvas, view, count < kCalmParts).paint(inView(*path, view.axis));
  }
  canvas.popClip();
  return true;
}

void drawSlack(Canvas& canvas, const ChartView& view, const SlackOf& slackOf) {
  canvas.pushClip(view.area);
  SlackPainter painter(canvas, view, slackOf);
  for (std::size_t row = 0; row < view.layout.size(); ++row) {
    const RowPlace place = view.layout[row];
    const int top = view.yOf(place.top);
    const bool isInView = top < view.area.bottom() && top + place.height > view.area.y;
    if (place.height > 0 && isInView && view.model.rows()[row].isCompute) painter.paint(row);
  }
  canvas.popClip();
}

}  // namespace pipetrace
