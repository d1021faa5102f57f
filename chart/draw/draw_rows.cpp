#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "chart/draw/canvas.h"
#include "chart/draw/draw_chart.h"
#include "chart/draw/draw_folded.h"
#include "chart/lane_piece.h"
#include "chart/text/cell_label.h"
#include "trace/text/display_name.h"

namespace pipetrace {

namespace {

/// Adds up what falls into the pixel columns of a row, so that each is as high as its share.
class ExactColumns {
 public:
  /// `full`: the height of the row in pixels. Columns are appended to `columns`, which must outlive
  /// it.
  ExactColumns(int full, std::vector<Column>& columns) : full_(full), columns_(columns) {}

  /// Adds `height` pixels of a colour to the column `x`, which is not negative. Calls come from
  /// left to right.
  void add(int x, double height, Color color);
  /// Makes the column `x`, if something is added to it, a line between two jobs: its colour is
  /// mixed with `paper`.
  void separate(int x, Color paper);
  /// Appends the last column.
  void finish();

 private:
  int full_;
  std::vector<Column>& columns_;
  bool isOpen_ = false;
  int x_ = 0;
  double height_ = 0;
  // The colour is the mean of what was added, weighted by height.
  double red_ = 0;
  double green_ = 0;
  double blue_ = 0;
  double weight_ = 0;
  int separator_ = -1;  // the column that is a line
  Color paper_{};
};

constexpr int kSeparatorPaper = 170;     // of 256
constexpr double kLeastWeight = 1.0e-6;  // of events without a length

void ExactColumns::add(int x, double height, Color color) {
  if (isOpen_ && x != x_) finish();
  isOpen_ = true;
  x_ = x;
  height_ += height;
  const double weight = std::max(height, kLeastWeight);
  red_ += weight * color.red;
  green_ += weight * color.green;
  blue_ += weight * color.blue;
  weight_ += weight;
}

void ExactColumns::separate(int x, Color paper) {
  separator_ = x;
  paper_ = paper;
}

void ExactColumns::finish() {
  if (isOpen_) {
    const auto mean = [&](double sum) { return static_cast<std::uint8_t>(sum / weight_ + 0.5); };
    const Color color{mean(red_), mean(green_), mean(blue_)};
    const int height = std::clamp(static_cast<int>(height_ + 0.5), std::min(1, full_), full_);
    columns_.push_back(
        {x_, height, separator_ == x_ ? mix(color, paper_, kSeparatorPaper) : color});
  }
  isOpen_ = false;
  height_ = red_ = green_ = blue_ = weight_ = 0;
}

constexpr int kSeparatedFrom = 4;  // least width of a cell that leaves a pixel before the next
constexpr int kHatchedFrom = 4;    // least width of a bubble with hatching
constexpr int kLargestText = 12;
constexpr int kSmallestText = 9;
constexpr int kNumberPadding = 3;  // of both sides and the pixel between cells
constexpr int kBubbleText = 11;    // largest text on a bubble
constexpr int kLabelledFrom = 30;  // least width of a bubble with a text
constexpr int kBubblePadding = 3;  // on each side of that text
constexpr int kNeighbours = 4;     // pixels beside a part that its pieces may depend on

/// Draws the rows of one view; the vectors are reused from lane to lane.
class RowPainter {
 public:
  RowPainter(Canvas& canvas, const ChartView& view)
      : canvas_(canvas),
        view_(view),
        colors_(view.model.colors()),
        measure_([this](std::string_view text) {
          return canvas_.textWidth(text, {.size = textSize_});
        }) {
    chooseTextSize();
    measureActions();
  }

  /// Paints the pixels [from, to) of a row of lanes. `place` is on the canvas.
  void paint(const ChartRow& row, const RowPlace& place, int from, int to) {
    if (place.height <= 0) return;
    from_ = std::max(from - kNeighbours, 0);
    to_ = std::min(to + kNeighbours, view_.area.width);
    canvas_.fill({view_.area.x + from, place.top, to - from, place.height},
                 colors_.theme().rowShade);
    for (const LaneIndex& bubbles : row.bubbles) paintBubbles(row, bubbles, place);
    idleStrip_ = RowLayout::idleStrip(row, place.height);
    for (std::size_t i = 0; i < row.lanes.size(); ++i) {
      const RowPlace lane = RowLayout::subLane(place, i, row.lanes.size());
      if (lane.height <= 0) continue;
      if (canvas_.hasPixels()) {
        paintExactJobs(row.lanes[i], lane);
      } else {
        paintJobs(row.lanes[i], lane);
      }
    }
  }

  /// Fills the part of a job that is in view with `ground`, and writes its name on it.
  void paintOn(const Event& job, const PixelRect& cell, Color ground) {
    canvas_.fill(cell, ground);
    labelCell(job, cell, {cell.y, cell.height}, ground);
  }

 private:
  /// The shortest job that has room for every micro-batch number.
  Nanoseconds numberDuration(int textSize) const {
    const std::string number = std::to_string(view_.model.largestMicroBatch());
    return view_.axis.durationOf(canvas_.textWidth(number, {.size = textSize}) + kNumberPadding);
  }

  /// Chooses one size for all cells: the largest at which as many kinds of compute jobs have room
  /// for their numbers as at the smallest size. Transfers have numbers only where all these have:
  /// alone they would draw the attention.
  void chooseTextSize() {
    const Nanoseconds least = numberDuration(kSmallestText);
    Nanoseconds shortest = kNsMax;
    for (int i = 0; i < kJobKindCount; ++i) {
      const auto kind = static_cast<JobKind>(i);
      const Nanoseconds usual = view_.model.usualDuration(kind);
      if (!isCompute(kind) || usual == 0) continue;
      if (usual >= least) shortest = std::min(shortest, usual);
      hasTransferNumbers_ = hasTransferNumbers_ && usual >= least;
    }
    textSize_ = kLargestText;
    while (textSize_ > kSmallestText && numberDuration(textSize_) > shortest) --textSize_;
  }

  /// Measures the widest action that the run may have.
  void measureActions() {
    const ChartModel& model = view_.model;
    for (int i = 0; i < kJobKindCount; ++i) {
      const auto kind = static_cast<JobKind>(i);
      if (!isCompute(kind) || model.usualDuration(kind) == 0) continue;
      const Event widest{
          .microBatch = model.largestMicroBatch(), .stage = model.largestStage(), .kind = kind};
      if (kind != JobKind::kForwardBackward) {
        actionWidth_ = std::max(actionWidth_, measure_(actionName(widest)));
      }
    }
  }

  /// The rectangle of the piece on the canvas, cut off at the sides of the view.
  PixelRect rectOf(const LanePiece& piece, const RowPlace& place) const {
    // Limits that do not depend on the part: cells are labelled in the middle of what is in view.
    const int left = std::max(piece.left, 0);
    const int right = std::min(piece.right, view_.area.width);
    return {view_.area.x + left, place.top, right - left, place.height};
  }

  /// The share of the pixel `x` that the event takes, 0 .. 1.
  double shareOf(const LaneIndex& lane, std::size_t event, int x) const {
    const Nanoseconds from = view_.axis.timeAt(x);
    const Nanoseconds to = view_.axis.timeAt(x + 1);
    if (from == to) return 1;
    const Nanoseconds part = std::min(lane.endOf(event), to) - std::max(lane.beginOf(event), from);
    return static_cast<double>(std::max<Nanoseconds>(part, 0)) / static_cast<double>(to - from);
  }

  /// A column's height: its share of the row, and at least one pixel if anything is in it. So it is
  /// off by one pixel at most.
  static int heightOf(const LanePiece& piece, int full) {
    if (piece.span <= 0) return full;
    const double share = static_cast<double>(piece.load.busy) / static_cast<double>(piece.span);
    return std::clamp(static_cast<int>(share * full + 0.5), std::min(1, full), full);
  }

  void addColumns(const LanePiece& piece, int height, Color color) {
    const PixelRect rect = rectOf(piece, {});
    for (int x = rect.x; x < rect.right(); ++x) columns_.push_back({x, height, color});
  }

  BubbleClass classOf(const Event& bubble) const {
    return view_.showsClasses ? bubble.bubbleClass : BubbleClass::kNone;
  }
  Color tintOf(const Event& bubble) const { return colors_.theme().tintOf(classOf(bubble)); }

  void paintBubbles(const ChartRow& row, const LaneIndex& lane, const RowPlace& place) {
    cut(lane);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      LanePiece& piece = pieces_[i];
      const Event& bubble = lane[piece.first];
      // Jobs in front of it leave a part of its last pixel free.
      if (!piece.isColumn && canvas_.hasPixels() &&
          view_.axis.timeAt(piece.right) < lane.endOf(piece.first)) {
        ++piece.right;
      }
      if (piece.isColumn) {
        addColumns(piece, heightOf(piece, place.height),
                   view_.showsClasses ? piece.load.color : tintOf(bubble));
      } else if (piece.right - piece.left < kHatchedFrom) {
        addColumns(piece, place.height, tintOf(bubble));
      } else {
        const Hatching hatching = colors_.theme().hatchingOf(classOf(bubble));
        canvas_.hatch(rectOf(underColumns(lane, i), place), hatching);
        if (view_.showsClasses) labelBubble(row, bubble, hatching, place);
      }
    }
    canvas_.columns(place.top, place.height, ColumnEdge::kTop, columns_);
  }

  /// The piece, continued behind columns of bubbles that touch it: they do not fill their pixels.
  LanePiece underColumns(const LaneIndex& lane, std::size_t i) const {
    LanePiece piece = pieces_[i];
    if (i > 0 && pieces_[i - 1].isColumn && pieces_[i - 1].right == piece.left &&
        lane[piece.first - 1].end == lane[piece.first].begin) {
      --piece.left;
    }
    if (i + 1 < pieces_.size() && pieces_[i + 1].isColumn && pieces_[i + 1].left == piece.right &&
        lane[piece.first].end == lane[piece.first + 1].begin) {
      ++piece.right;
    }
    return piece;
  }

  /// Writes class, length and culprit into the longest stretch of the bubble without a job in front
  /// of it, on a ground without lines.
  void labelBubble(const ChartRow& row, const Event& bubble, const Hatching& hatching,
                   const RowPlace& place) {
    if (place.height < kSmallestText + 2 ||
        view_.axis.durationOf(kLabelledFrom) > bubble.duration())
      return;
    const Timeline::Span free = longestFree(row, bubble);
    const int left = std::max(view_.axis.xOf(free.begin), 0) + kBubblePadding;
    const int right = std::min(view_.axis.xOf(free.end), view_.area.width) - kBubblePadding;
    if (right <= left) return;
    const TextStyle style{std::clamp(place.height - 5, kSmallestText, kBubbleText), false,
                          textColorOn(hatching.ground), TextAlign::kCenter};
    const auto measure = [&](std::string_view text) { return canvas_.textWidth(text, style); };
    const std::string label = cellLabel(view_.model.timeline(), bubble, right - left, measure);
    if (label.empty()) return;
    const int width = measure(label);
    const int height = std::min(style.size + 4, place.height);
    const int x = view_.area.x + left + (right - left - width) / 2;
    canvas_.fill({x - kBubblePadding, place.top + (place.height - height) / 2,
                  width + 2 * kBubblePadding, height},
                 hatching.ground);
    canvas_.text({x, place.top, width, place.height}, label, style);
  }

  /// The longest stretch of the bubble, as far as it is in view, in which the row has no job. It
  /// looks at a limited number of jobs.
  Timeline::Span longestFree(const ChartRow& row, const Event& bubble) const {
    constexpr std::size_t kMostJobs = 64;
    Timeline::Span seen{std::max(bubble.begin, view_.axis.begin()),
                        std::min(bubble.end, view_.axis.end())};
    for (const LaneIndex& lane : row.lanes) {
      Timeline::Span longest{seen.begin, seen.begin};
      Nanoseconds from = seen.begin;
      const auto add = [&](Nanoseconds to) {
        if (to - from > longest.end - longest.begin) longest = {from, to};
      };
      const std::size_t first = lane.firstEndingAfter(seen.begin);
      std::size_t i = first;
      for (; i < lane.size() && i < first + kMostJobs && lane[i].begin < seen.end; ++i) {
        add(lane[i].begin);
        from = lane[i].end;
      }
      if (i == lane.size() || lane[i].begin >= seen.end) add(seen.end);
      seen = longest;
    }
    return seen;
  }

  /// The part of a row that the job fills: bubbles stay visible over a job that is no work.
  RowPlace placeOf(const Event& job, RowPlace place) const {
    if (isCompute(job.kind)) return place;
    return {place.top + idleStrip_, place.height - idleStrip_};
  }

  void paintJobs(const LaneIndex& lane, const RowPlace& place) {
    cut(lane);
    for (const LanePiece& piece : pieces_) {
      if (piece.isColumn) {
        addColumns(piece, heightOf(piece, place.height), piece.load.color);
        continue;
      }
      const bool isNarrow = piece.right - piece.left < kSeparatedFrom;
      if (isNarrow && idleStrip_ == 0) {
        addColumns(piece, place.height, lane.colorOf(piece.first));  // without fetching the job
        continue;
      }
      const Event& job = lane[piece.first];
      const RowPlace filled = placeOf(job, place);
      if (isNarrow) {
        addColumns(piece, filled.height, colors_.of(job));
      } else {
        paintCell(job, piece, filled);
      }
    }
    canvas_.columns(place.top, place.height, ColumnEdge::kBottom, columns_);
  }

  void paintCell(const Event& event, const LanePiece& piece, const RowPlace& place) {
    PixelRect rect = rectOf(piece, place);
    if (rect.width <= 0) return;
    if (rect.width >= kSeparatedFrom && piece.right <= view_.area.width) --rect.width;
    canvas_.fill(rect, colors_.of(event));
    labelCell(event, rect, place, colors_.of(event));
  }

  /// The same with every pixel column as high as its share.
  void paintExactJobs(const LaneIndex& lane, const RowPlace& place) {
    cut(lane);
    loneMarks_.clear();
    ExactColumns columns(place.height, columns_);
    const Nanoseconds leastCell = view_.axis.durationOf(kMinCellWidth);
    std::optional<int> endOfWide;
    for (const LanePiece& piece : pieces_) {
      const std::size_t job = piece.first;
      if (piece.isColumn) {
        const double share =
            piece.span > 0 ? static_cast<double>(piece.load.busy) / static_cast<double>(piece.span)
                           : 1;
        columns.add(view_.area.x + piece.left, share * place.height, piece.load.color);
        continue;
      }
      const RowPlace filled = idleStrip_ == 0 ? place : placeOf(lane[job], place);
      const Color color = lane.colorOf(job);
      if (lane.endOf(job) - lane.beginOf(job) < leastCell) {
        for (int x = std::max(piece.left, 0); x < std::min(piece.right, view_.area.width); ++x) {
          loneMarks_.push_back({view_.area.x + x, filled.height,
                                mix(color, colors_.theme().rowShade, kLoneMarkGround)});
          columns.add(view_.area.x + x, shareOf(lane, job, x) * filled.height, color);
        }
        continue;
      }
      const bool touches = endOfWide == piece.left;
      const bool isWide = piece.right - piece.left >= kSeparatedFrom;
      endOfWide = isWide ? std::optional(piece.right) : std::nullopt;
      paintExactCell(lane, piece, filled, touches, isWide, columns);
    }
    columns.finish();
    canvas_.columns(place.top, place.height, ColumnEdge::kBottom, loneMarks_);
    canvas_.columns(place.top, place.height, ColumnEdge::kBottom, columns_);
  }

  /// `touches`: a line separates it from the wide cell before.
  void paintExactCell(const LaneIndex& lane, const LanePiece& piece, const RowPlace& place,
                      bool touches, bool isWide, ExactColumns& columns) {
    const std::size_t job = piece.first;
    const Color color = lane.colorOf(job);
    const auto addPart = [&](int x) {
      if (x < 0 || x >= view_.area.width) return;
      const double share = shareOf(lane, job, x);
      if (share > 0) columns.add(view_.area.x + x, share * place.height, color);
    };
    if (touches) columns.separate(view_.area.x + piece.left, colors_.theme().paper);
    addPart(piece.left);
    const int left = std::max(piece.left + 1, 0);
    const int right = std::min(piece.right, view_.area.width);
    if (!isWide) {
      for (int x = left; x < right; ++x) addPart(x);
    } else if (left < right) {
      canvas_.fill({view_.area.x + left, place.top, right - left, place.height}, color);
      labelCell(lane[job], {view_.area.x + left, place.top, right - left, place.height}, place,
                color);
    }
    addPart(piece.right);
  }

  void labelCell(const Event& event, const PixelRect& rect, const RowPlace& place, Color ground) {
    TextStyle style;
    style.size = std::min(textSize_, std::max(place.height - 5, kSmallestText));
    if (place.height < style.size + 2) return;
    if (isTransfer(event.kind) && !hasTransferNumbers_) return;
    style.color = textColorOn(ground);
    style.align = TextAlign::kCenter;
    const std::string label =
        cellLabel(view_.model.timeline(), event, rect.width, measure_, actionWidth_);
    if (!label.empty()) canvas_.text(rect, label, style);
  }

  void cut(const LaneIndex& lane) {
    pieces_.clear();
    columns_.clear();
    cutIntoPieces(lane, view_.axis, from_, to_, pieces_);
  }

  Canvas& canvas_;
  const ChartView& view_;
  const JobColors& colors_;
  int textSize_ = kLargestText;
  TextWidth measure_;    // of texts in cells
  int actionWidth_ = 0;  // of the widest action
  bool hasTransferNumbers_ = true;
  int idleStrip_ = 0;  // of the row that is painted
  int from_ = 0;       // the part of it that is cut into pieces
  int to_ = 0;
  std::vector<LanePiece> pieces_;
  std::vector<Column> columns_;
  std::vector<Column> loneMarks_;
};

}  // namespace

struct CellLabels::Painter {
  Painter(Canvas& canvas, const ChartView& view) : rows(canvas, view) {}
  RowPainter rows;
};

CellLabels::CellLabels(Canvas& canvas, const ChartView& view)
    : painter_(std::make_unique<Painter>(canvas, view)) {}
CellLabels::~CellLabels() = default;

void CellLabels::draw(const Event& job, const PixelRect& cell, Color ground) {
  painter_->rows.paintOn(job, cell, ground);
}

void drawRows(Canvas& canvas, const ChartView& view) {
  RowPainter painter(canvas, view);
  for (const bool isPinned : {true, false}) {
    canvas.pushClip(view.clipOf(isPinned));
    for (const RowInView& each : view.rowsInView()) {
      if (each.isPinned != isPinned) continue;
      if (each.row->showsLanes()) {
        painter.paint(view.model.rows()[each.row->row], each.place, 0, view.area.width);
      } else {
        drawRowWithoutLanes(canvas, view, *each.row, each.place);
      }
    }
    canvas.popClip();
  }
  if (view.layout.pinnedCount() > 0) drawPinnedEdge(canvas, view);
}

void drawRow(Canvas& canvas, const ChartView& view, std::size_t row, int from, int to) {
  RowPlace place = view.layout[row];
  place.top = view.yOf(place.top);
  canvas.pushClip({view.area.x + from, place.top, to - from, place.height});
  RowPainter(canvas, view).paint(view.model.rows()[row], place, from, to);
  canvas.popClip();
}

}  // namespace pipetrace
