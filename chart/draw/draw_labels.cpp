#include <algorithm>
#include <limits>

#include "chart/draw/draw_chart.h"

namespace pipetrace {
namespace {

constexpr int kPadding = 8;
constexpr int kLargestRankWidth = 110;
constexpr int kLargestLaneWidth = 130;
constexpr int kTwoLinesFrom = 28;
constexpr int kSmallestLegible = 9;  // row height
constexpr int kLabelHeight = 12;
constexpr TextStyle kRankStyle{12, true, {}, TextAlign::kLeft};
constexpr TextStyle kDetailStyle{10, false, {}, TextAlign::kLeft};
constexpr TextStyle kLaneStyle{10, false, {}, TextAlign::kRight};

int rankWidth(const TextMeasure& measure, const ChartModel& model) {
  int width = 0;
  for (const ChartRow& row : model.rows()) {
    width = std::max(
        {width, measure(row.rankLabel, kRankStyle), measure(row.rankDetail, kDetailStyle)});
  }
  return std::min(width, kLargestRankWidth);
}

/// The label of a row. Compute rows have none: they are the high ones.
const std::string& laneLabel(const ChartRow& row) {
  static const std::string none;
  return row.isCompute ? none : row.lane;
}

/// Draws a line of text no higher than its row, shortened to the width of `box`.
void drawLine(Canvas& canvas, PixelRect box, const std::string& text, TextStyle style) {
  if (text.empty() || box.height < kSmallestLegible) return;
  style.size = std::min(style.size, box.height);
  canvas.text(box, elided(canvas.measure(), text, style, box.width), style);
}

void drawRank(Canvas& canvas, const Theme& theme, const ChartRow& row, PixelRect box) {
  if (box.height < kTwoLinesFrom || row.rankDetail.empty()) {
    drawLine(canvas, box, row.rankLabel, kRankStyle.in(theme.ink));
    return;
  }
  constexpr int kLines = 15 + 12;
  const int top = box.y + (box.height - kLines) / 2;
  drawLine(canvas, {box.x, top, box.width, 15}, row.rankLabel, kRankStyle.in(theme.ink));
  drawLine(canvas, {box.x, top + 15, box.width, 12}, row.rankDetail,
           kDetailStyle.in(theme.faintInk));
}

}  // namespace

int rowLabelWidth(const TextMeasure& measure, const ChartModel& model) {
  int lane = 0;
  for (const ChartRow& row : model.rows()) {
    lane = std::max(lane, measure(laneLabel(row), kLaneStyle));
  }
  lane = std::min(lane, kLargestLaneWidth);
  return kPadding + rankWidth(measure, model) + (lane > 0 ? 2 * kPadding + lane : kPadding);
}

void drawRowLabels(Canvas& canvas, const ChartView& view, PixelRect box) {
  const Theme& theme = view.model.theme();
  canvas.fill(box, theme.paper);
  canvas.pushClip(box);
  const int rankRight = box.x + kPadding + rankWidth(canvas.measure(), view.model);
  int freeFrom = std::numeric_limits<int>::min();
  const int end = view.scrollY + view.area.height;
  for (std::size_t i = view.layout.firstBelow(view.scrollY); i < view.layout.size(); ++i) {
    const RowPlace place = view.layout[i];
    if (place.top >= end) break;
    const ChartRow& row = view.model.rows()[i];
    const int top = view.yOf(place.top);
    if (!row.rankLabel.empty() && place.height > 0) {
      const int height = std::max(place.height, kLabelHeight);
      const int labelTop = top + (place.height - height) / 2;
      if (labelTop >= freeFrom) {  // where rows are lower than labels, some have none
        drawRank(canvas, theme, row,
                 {box.x + kPadding, labelTop, rankRight - box.x - kPadding, height});
        freeFrom = labelTop + height;
      }
    }
    const int left = rankRight + kPadding;
    drawLine(canvas, {left, top, box.right() - kPadding - left, place.height}, laneLabel(row),
             kLaneStyle.in(theme.faintInk));
  }
  canvas.popClip();
}

}  // namespace pipetrace
