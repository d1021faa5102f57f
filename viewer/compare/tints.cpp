#include "viewer/compare/tints.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "chart/colors/difference_color.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {
namespace {

constexpr int kLeastAlpha = 70;
constexpr int kHighestBand = 10;  // pixels

}  // namespace

QColor tintOf(const Theme& theme, Nanoseconds difference, Nanoseconds longest) {
  QColor color = toQColor(differenceColor(theme, difference > 0));
  const double share =
      longest > 0 ? static_cast<double>(std::abs(difference)) / static_cast<double>(longest) : 0;
  // The square root: else all but the longest would look alike.
  color.setAlpha(kLeastAlpha +
                 static_cast<int>((255 - kLeastAlpha) * std::sqrt(std::clamp(share, 0.0, 1.0))));
  return color;
}

void Tints::paint(QPainter& painter, const ChartView& view) {
  const JobTwins* const twins = comparison_.twins();
  if (twins == nullptr || twins->byDifference().empty()) return;
  painter.save();
  painter.setPen(Qt::NoPen);
  for (const RowInView& row : view.rowsInView()) {
    if (!row.row->showsLanes() || twins->drawnIn(run_, row.row->row).empty()) continue;
    const PixelRect clip = view.clipOf(row.isPinned);
    painter.setClipRect(clip.x, clip.y, clip.width, clip.height);
    paintRow(painter, view, *twins, row);
  }
  painter.restore();
}

void Tints::paintRow(QPainter& painter, const ChartView& view, const JobTwins& twins,
                     const RowInView& row) const {
  const auto jobs = twins.drawnIn(run_, row.row->row);
  const int height = std::clamp(row.place.height / 4, 2, kHighestBand);
  const int top = row.place.bottom() - height;
  const auto beginsBefore = [](const JobTwins::Drawn& job, Nanoseconds time) {
    return job.begin < time;
  };
  const auto indexOf = [&](Nanoseconds time) {
    return static_cast<std::size_t>(std::lower_bound(jobs.begin(), jobs.end(), time, beginsBefore) -
                                    jobs.begin());
  };
  // Jobs of a row are mostly one after the other; the one before may reach into the view.
  std::size_t first = indexOf(view.axis.begin());
  first -= first > 0 ? 1 : 0;
  const std::size_t last = indexOf(view.axis.end());
  while (first < last) {
    const int x = std::max(view.xOf(jobs[first].begin), view.area.x);
    // All that begin in the same pixel are drawn as one.
    const std::size_t next =
        std::max(first + 1, std::min(last, indexOf(view.axis.timeAt(x - view.area.x + 1))));
    const Nanoseconds difference = twins.largestOf(run_, row.row->row, first, next);
    const int right = std::min(view.xOf(jobs[next - 1].end), view.area.right());
    if (std::abs(difference) >= twins.leastDifference() && right >= view.area.x) {
      painter.fillRect(x, top, std::max(right - x, 1), height,
                       tintOf(view.model.theme(), difference, twins.longestDifference()));
    }
    first = next;
  }
}

}  // namespace pipetrace
