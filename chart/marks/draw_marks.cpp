#include "chart/marks/draw_marks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "chart/draw/text_width.h"

namespace pipetrace {
namespace {

constexpr int kFlagHeight = 16;
constexpr int kPadding = 5;
constexpr int kLargestFlag = 220;  // pixels
constexpr int kLevels = 4;         // of flags of times, one below the other
constexpr int kFrame = 2;
constexpr int kLeastFrame = 4;  // width

Color colorOf(const Theme& theme) {
  return theme.isDark ? Color{236, 148, 222} : Color{150, 30, 132};
}

class MarkPainter {
 public:
  MarkPainter(Canvas& canvas, const ChartView& view)
      : canvas_(canvas),
        view_(view),
        color_(colorOf(view.model.theme())),
        style_{11, true, color_, TextAlign::kCenter} {
    nextFree_.fill(std::numeric_limits<int>::min());
  }

  void paint(const ChartMark& mark) {
    const int left = view_.xOf(mark.begin);
    const int right = std::max(view_.xOf(mark.end), left);
    if (right < view_.area.x || left >= view_.area.right()) return;
    if (mark.isOfEvent()) {
      const auto row = rowOf(view_.model, mark);
      if (row) paintEvent(mark, *row, left, right);
      return;
    }
    const std::array<PixelPoint, 2> line = {
        PixelPoint{left + 0.5, static_cast<double>(view_.area.y)},
        PixelPoint{left + 0.5, static_cast<double>(view_.area.bottom())}};
    canvas_.line(line, {color_, 1.5, 1, true});
    const int width = widthOf(mark);
    const auto level =
        std::find_if(nextFree_.begin(), nextFree_.end(), [left](int free) { return free <= left; });
    if (level == nextFree_.end()) return;  // the line alone
    *level = left + width + kPadding;
    const int y =
        view_.area.y + 2 + static_cast<int>(level - nextFree_.begin()) * (kFlagHeight + 2);
    flag(mark, std::min(left, view_.area.right() - width), y, width);
  }

 private:
  void paintEvent(const ChartMark& mark, std::size_t row, int left, int right) {
    const RowPlace& place = view_.layout[row];
    if (place.bottom() == 0) return;
    const bool isPinned = place.top < view_.layout.pinnedHeight();
    canvas_.pushClip(view_.clipOf(isPinned));
    const int top = view_.yOf(place.top);
    left = std::max(left, view_.area.x - kFrame);
    right = std::min(right, view_.area.right() + kFrame);
    const PixelRect box{left, top, std::max(right - left, kLeastFrame), std::max(place.height, 3)};
    const int inner = std::max(box.height - 2 * kFrame, 0);
    canvas_.fill({box.x, box.y, box.width, kFrame}, color_);
    canvas_.fill({box.x, box.bottom() - kFrame, box.width, kFrame}, color_);
    canvas_.fill({box.x, box.y + kFrame, kFrame, inner}, color_);
    canvas_.fill({box.right() - kFrame, box.y + kFrame, kFrame, inner}, color_);
    const int width = widthOf(mark);
    const int x =
        std::clamp(box.x, view_.area.x, std::max(view_.area.right() - width, view_.area.x));
    const int above = top - kFlagHeight + kFrame;
    flag(mark, x, above >= view_.area.y ? above : box.bottom() - kFrame, width);
    canvas_.popClip();
  }

  int widthOf(const ChartMark& mark) {
    if (mark.text.empty()) return kFlagHeight / 2;
    return std::min(canvas_.textWidth(mark.text, style_) + 2 * kPadding, kLargestFlag);
  }

  void flag(const ChartMark& mark, int x, int y, int width) {
    const PixelRect box{x, y, width, kFlagHeight};
    canvas_.fill(box, color_);
    if (mark.text.empty()) return;
    const PixelRect inside{box.x + 1, box.y + 1, box.width - 2, box.height - 2};
    canvas_.fill(inside, view_.model.theme().paper);
    canvas_.text(inside, elided(canvas_.measure(), mark.text, style_, width - 2 * kPadding + 2),
                 style_);
  }

  Canvas& canvas_;
  const ChartView& view_;
  Color color_;
  TextStyle style_;
  std::array<int, kLevels> nextFree_{};
};

}  // namespace

std::optional<std::size_t> rowOf(const ChartModel& model, const ChartMark& mark) {
  if (!mark.isOfEvent()) return std::nullopt;
  const std::vector<ChartRow>& rows = model.rows();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const ChartRow& each) {
    return each.rank == mark.rank && each.lane == mark.lane;
  });
  if (row == rows.end()) return std::nullopt;
  return static_cast<std::size_t>(row - rows.begin());
}

void drawMarks(Canvas& canvas, const ChartView& view, std::span<const ChartMark> marks) {
  if (marks.empty()) return;
  std::vector<const ChartMark*> sorted;
  for (const ChartMark& mark : marks) sorted.push_back(&mark);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  canvas.pushClip(view.area);
  MarkPainter painter(canvas, view);
  for (const ChartMark* mark : sorted) painter.paint(*mark);
  canvas.popClip();
}

}  // namespace pipetrace
