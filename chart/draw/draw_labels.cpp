#include <algorithm>
#include <limits>
#include <vector>

#include "chart/draw/draw_chart.h"

namespace pipetrace {
namespace {

constexpr int kPadding = 8;
constexpr int kIndent = 12;
constexpr int kLargestWidth = 190;
constexpr int kTwoLinesFrom = 28;
constexpr int kSmallestLegible = 9;  // row height
constexpr int kLabelHeight = 12;
constexpr int kWordGap = 6;
constexpr TextStyle kNameStyle{12, true, {}, TextAlign::kLeft};
constexpr TextStyle kDetailStyle{10, false, {}, TextAlign::kLeft};
constexpr TextStyle kLaneStyle{10, false, {}, TextAlign::kLeft};

TextStyle nameStyle(RowKind kind) { return kind <= RowKind::kRank ? kNameStyle : kLaneStyle; }

/// Draws a line of text no higher than its row, shortened to the width of `box`. Returns its width.
int drawLine(Canvas& canvas, PixelRect box, std::string_view text, TextStyle style) {
  if (text.empty() || box.height < kSmallestLegible || box.width <= 0) return 0;
  style.size = std::min(style.size, box.height);
  const std::string shown = elided(canvas.measure(), text, style, box.width);
  canvas.text(box, shown, style);
  return canvas.textWidth(shown, style);
}

void drawLabel(Canvas& canvas, const Theme& theme, const ShownRow& row, PixelRect box) {
  const auto inked = [&](const TextStyle& style) {
    return style.in(style.bold ? theme.ink : theme.faintInk);
  };
  const auto drawWord = [&](std::string_view word, const TextStyle& style) {
    const int width = drawLine(canvas, box, word, inked(style));
    if (width == 0) return;
    box.x += width + kWordGap;
    box.width -= width + kWordGap;
  };
  if (row.isOneLine || row.detail.empty() || box.height < kTwoLinesFrom) {
    drawWord(row.prefix, kNameStyle);
    drawWord(row.label, nameStyle(row.kind));
    if (row.isOneLine) drawWord(row.detail, kDetailStyle);
    return;
  }
  constexpr int kLines = 15 + 12;
  const PixelRect whole = box;
  box.y += (box.height - kLines) / 2;
  box.height = 15;
  drawWord(row.prefix, kNameStyle);
  drawWord(row.label, nameStyle(row.kind));
  drawLine(canvas, {whole.x, box.y + 15, whole.width, 12}, row.detail, inked(kDetailStyle));
}

int widthOf(const TextMeasure& measure, const RowNode& node) {
  const int name = measure(node.label, nameStyle(node.kind));
  const int detail = node.detail.empty() ? 0 : measure(node.detail, kDetailStyle);
  return node.isOneLine ? name + kWordGap + detail : std::max(name, detail);
}

}  // namespace

int rowLabelX(int depth, int gutter) { return kPadding + gutter + depth * kIndent; }

int rowLabelWidth(const TextMeasure& measure, const ShownRows& shown, int gutter) {
  const RowTree& tree = *shown.tree;
  int width = 0;
  std::vector<int> depths(tree.size());
  const auto add = [&](std::size_t node) {
    width = std::max(width, rowLabelX(depths[node], gutter) + widthOf(measure, tree[node]));
  };
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::size_t parent = tree[i].parent;
    depths[i] = parent == RowNode::kNone ? 0 : depths[parent] + 1;
    const bool isOther = parent != RowNode::kNone && tree[parent].kind == RowKind::kOtherLanes;
    if (!isOther) add(i);
  }
  for (const ShownRow& row : shown.rows) add(row.node);
  return std::min(width, gutter + kLargestWidth) + kPadding;
}

void drawRowLabels(Canvas& canvas, const ChartView& view, PixelRect box, int gutter) {
  const Theme& theme = view.model.theme();
  canvas.fill(box, theme.paper);
  const int pinned = std::min(view.layout.pinnedHeight(), box.height);
  for (const bool isPinned : {true, false}) {
    canvas.pushClip(isPinned ? PixelRect{box.x, box.y, box.width, pinned}
                             : PixelRect{box.x, box.y + pinned, box.width, box.height - pinned});
    int freeFrom = std::numeric_limits<int>::min();
    for (const RowInView& each : view.rowsInView()) {
      if (each.isPinned != isPinned || each.place.height <= 0) continue;
      const ShownRow& row = *each.row;
      const int left = box.x + rowLabelX(row.depth, gutter);
      const int top = each.place.top - view.area.y + box.y;
      const int width = box.right() - kPadding / 2 - left;
      if (row.kind >= RowKind::kLane) {
        drawLabel(canvas, theme, row, {left, top, width, each.place.height});
        continue;
      }
      const int height = std::max(each.place.height, kLabelHeight);
      const int labelTop = top + (each.place.height - height) / 2;
      if (labelTop < freeFrom) continue;  // where rows are lower than labels, some have none
      drawLabel(canvas, theme, row, {left, labelTop, width, height});
      freeFrom = labelTop + height;
    }
    canvas.popClip();
  }
}

}  // namespace pipetrace
