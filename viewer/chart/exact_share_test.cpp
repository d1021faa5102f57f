#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "chart/testing/paper_colors.h"
#include "viewer/testing/shown_chart.h"

// The share of a pixel column that is drawn busy, measured on a picture of the real widget, against
// the sum over all jobs.
namespace pipetrace {
namespace {

Timeline randomJobs(Nanoseconds longest, std::size_t count) {
  Timeline timeline;
  std::mt19937_64 random(11);
  for (int rank = 0; rank < 3; ++rank) {
    Track& track = timeline.track(rank, kComputeLane);
    timeline.ranks[rank].rank = rank;
    Nanoseconds time = kTestEpoch;
    for (std::size_t i = 0; i < count; ++i) {
      Event event;
      // Stretches of many short jobs, and long ones between them.
      const bool isLong = random() % 1000 == 0;
      const Nanoseconds most = isLong ? 500 * longest : longest;
      event.begin = time + static_cast<Nanoseconds>(random() % (1 + most / (1 + i / 500 % 7)));
      event.end = event.begin + static_cast<Nanoseconds>(random() % most);
      event.kind = random() % 2 == 0 ? JobKind::kForward : JobKind::kBackward;
      event.step = 0;
      time = event.end;
      track.events.push_back(event);
    }
  }
  timeline.sort();
  return timeline;
}

/// One pixel column of a row, as its jobs say.
struct Truth {
  double share = 0;
  bool hasEdgeOfCell = false;  ///< a job of two pixels or more begins or ends in it or beside it
  bool hasLoneJob = false;     ///< a short job with its pixels to itself, which is drawn whole
};

std::vector<Truth> truthOf(const std::vector<Event>& jobs, const TimeAxis& axis) {
  std::vector<Truth> columns(static_cast<std::size_t>(axis.width()));
  const Nanoseconds cell = axis.durationOf(2);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Event& job = jobs[i];
    if (job.end < axis.begin() || job.begin >= axis.end()) continue;
    const int first = axis.xOf(job.begin);
    const int last = axis.xOf(std::max(job.end - 1, job.begin));
    const auto mark = [&](int x, bool Truth::*what) {
      if (x >= 0 && x < axis.width()) columns[static_cast<std::size_t>(x)].*what = true;
    };
    if (job.duration() >= cell) {
      // Cells have whole pixels, and leave the last one free if they are wide.
      for (const int x : {first, axis.xOf(job.end) - 1, axis.xOf(job.end)}) {
        mark(x, &Truth::hasEdgeOfCell);
      }
    } else {
      const bool isNextFar = i + 1 == jobs.size() || axis.xOf(jobs[i + 1].begin) > last + 2;
      const bool isLastFar =
          i == 0 || axis.xOf(std::max(jobs[i - 1].end - 1, jobs[i - 1].begin)) < first - 2;
      for (int x = first; x <= last && isNextFar && isLastFar; ++x) mark(x, &Truth::hasLoneJob);
    }
    for (int x = std::max(first, 0); x <= std::min(last, axis.width() - 1); ++x) {
      const Nanoseconds from = axis.timeAt(x);
      const Nanoseconds to = axis.timeAt(x + 1);
      const Nanoseconds part = std::min(job.end, to) - std::max(job.begin, from);
      if (part <= 0) continue;
      columns[static_cast<std::size_t>(x)].share +=
          static_cast<double>(part) / static_cast<double>(to - from);
    }
  }
  return columns;
}

/// Compares all rows; adds to `checked` the columns for which that was possible.
void compare(ShownChart& chart, const Timeline& timeline, std::int64_t& checked,
             std::int64_t& partly) {
  const ChartView view = chart.widget().view();
  const QImage picture = chart.widget().viewport()->grab().toImage();
  const QRgb idle =
      qRgb(kPaperTheme.rowShade.red, kPaperTheme.rowShade.green, kPaperTheme.rowShade.blue);
  for (std::size_t row = 0; row < view.layout.size(); ++row) {
    const RowPlace place = view.layout[row];
    const std::vector<Truth> truth = truthOf(timeline.tracks[row].events, view.axis);
    for (int x = 0; x < view.area.width; ++x) {
      const Truth& column = truth[static_cast<std::size_t>(x)];
      if (column.hasEdgeOfCell || column.hasLoneJob) continue;
      if (view.axis.timeAt(x) == view.axis.timeAt(x + 1)) continue;  // less than a nanosecond
      int busy = 0;
      for (int y = 0; y < place.height; ++y) {
        busy += picture.pixel(view.area.x + x, view.yOf(place.top) + y) != idle ? 1 : 0;
      }
      ASSERT_LE(std::abs(busy - column.share * place.height), 1.0)
          << "row " << row << ", pixel " << x << ", a view of " << view.axis.span() << " ns";
      ++checked;
      partly += column.share > 0.02 && column.share < 0.98 ? 1 : 0;
    }
  }
}

void checkAllZooms(Nanoseconds longest) {
  const Timeline timeline = randomJobs(longest, 20'000);
  ShownChart chart(timeline, {1000, 500});
  std::int64_t checked = 0;
  std::int64_t partly = 0;
  Nanoseconds span = 0;
  for (int zoom = 0; zoom < 120 && span != chart.axis().span(); ++zoom) {
    span = chart.axis().span();
    compare(chart, timeline, checked, partly);
    if (testing::Test::HasFatalFailure()) return;
    chart.wheel({300 + 37 * (zoom % 12), 200}, {0, 120}, Qt::ControlModifier);
  }
  EXPECT_LE(chart.axis().span(), 20) << "zoomed in as far as possible";
  EXPECT_GT(checked, 60'000);
  EXPECT_GT(partly, 10'000);
}

TEST(ExactShareTest, AColumnIsAsHighAsTheShareOfItsTimeAtEveryZoom) { checkAllZooms(100'000); }

TEST(ExactShareTest, SharesOfLongRunsAreExactToo) { checkAllZooms(400 * kNsPerMs); }

}  // namespace
}  // namespace pipetrace
