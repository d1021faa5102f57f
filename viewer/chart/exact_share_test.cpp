#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "chart/draw/draw_chart.h"
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

/// The share of each pixel column that the jobs take.
std::vector<double> sharesOf(const std::vector<Event>& jobs, const TimeAxis& axis) {
  std::vector<double> shares(static_cast<std::size_t>(axis.width()));
  for (const Event& job : jobs) {
    if (job.end < axis.begin() || job.begin >= axis.end()) continue;
    const int first = std::max(axis.xOf(job.begin), 0);
    const int last = std::min(axis.xOf(std::max(job.end - 1, job.begin)), axis.width() - 1);
    for (int x = first; x <= last; ++x) {
      const Nanoseconds from = axis.timeAt(x);
      const Nanoseconds to = axis.timeAt(x + 1);
      const Nanoseconds part = std::min(job.end, to) - std::max(job.begin, from);
      if (part <= 0) continue;
      shares[static_cast<std::size_t>(x)] +=
          static_cast<double>(part) / static_cast<double>(to - from);
    }
  }
  return shares;
}

/// Whether a pixel of a row is the ground, or the pale mark over a short job that stands alone.
bool isIdle(QRgb pixel) {
  const auto is = [pixel](Color color) {
    return pixel == qRgb(color.red, color.green, color.blue);
  };
  const Color ground = kPaperTheme.rowShade;
  const auto markOf = [&](JobKind kind) {
    return mix(kPaperColors.of({.kind = kind}), ground, kLoneMarkGround);
  };
  return is(ground) || is(markOf(JobKind::kForward)) || is(markOf(JobKind::kBackward));
}

/// Compares all columns of all rows; adds to `checked` how many, and to `partly` how many of them
/// are neither idle nor full.
void compare(ShownChart& chart, const Timeline& timeline, std::int64_t& checked,
             std::int64_t& partly) {
  const ChartView view = chart.widget().view();
  const QImage picture = chart.widget().viewport()->grab().toImage();
  for (std::size_t row = 0; row < view.layout.size(); ++row) {
    const RowPlace place = view.layout[row];
    const std::vector<double> shares = sharesOf(timeline.tracks[row].events, view.axis);
    for (int x = 0; x < view.area.width; ++x) {
      const double share = shares[static_cast<std::size_t>(x)];
      if (view.axis.timeAt(x) == view.axis.timeAt(x + 1)) continue;  // less than a nanosecond
      int busy = 0;
      for (int y = 0; y < place.height; ++y) {
        busy += isIdle(picture.pixel(view.area.x + x, view.yOf(place.top) + y)) ? 0 : 1;
      }
      ASSERT_LE(std::abs(busy - share * place.height), 1.0)
          << "row " << row << ", pixel " << x << ", a view of " << view.axis.span() << " ns";
      ++checked;
      partly += share > 0.02 && share < 0.98 ? 1 : 0;
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

/// Jobs of 6 us, each 10 us after the one before.
Timeline regularJobs(std::size_t count) {
  Timeline timeline;
  Track& track = timeline.track(0, kComputeLane);
  timeline.ranks[0].rank = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Nanoseconds begin = kTestEpoch + static_cast<Nanoseconds>(i) * 10 * kNsPerUs;
    track.events.push_back(
        {.begin = begin, .end = begin + 6 * kNsPerUs, .step = 0, .kind = JobKind::kForward});
  }
  timeline.sort();
  return timeline;
}

/// The height that is drawn busy in each pixel column of the first row.
std::vector<int> busyHeights(ShownChart& chart, int& full) {
  const ChartView view = chart.widget().view();
  const QImage picture = chart.widget().viewport()->grab().toImage();
  const RowPlace place = view.layout[0];
  full = place.height;
  std::vector<int> heights;
  for (int x = 0; x < view.area.width; ++x) {
    int busy = 0;
    for (int y = 0; y < place.height; ++y) {
      busy += isIdle(picture.pixel(view.area.x + x, view.yOf(place.top) + y)) ? 0 : 1;
    }
    heights.push_back(busy);
  }
  return heights;
}

TEST(ExactShareTest, AnEvenLoadOfThinJobsLooksEvenAtEveryZoom) {
  const Timeline timeline = regularJobs(60'000);
  ShownChart chart(timeline, {1000, 400});
  constexpr int kStretch = 24;  // pixels, over which an eye sees a load and no single jobs
  int zooms = 0;
  int equalZooms = 0;
  for (; zooms < 60; ++zooms) {
    const TimeAxis axis = chart.axis();
    const double period = 10.0 * kNsPerUs / static_cast<double>(axis.span()) * axis.width();
    if (period * 6 / 10 >= 1) break;  // a job is a pixel wide
    int full = 0;
    const std::vector<int> heights = busyHeights(chart, full);
    // The run ends before the view of all does.
    const int first = std::max(axis.xOf(chart.model().span().begin), 0) + 2;
    const int last = std::min(axis.xOf(chart.model().span().end), axis.width()) - 2;
    std::vector<double> means;
    for (int x = first; x + kStretch <= last; ++x) {
      const auto from = heights.begin() + x;
      means.push_back(std::accumulate(from, from + kStretch, 0.0) / kStretch);
    }
    ASSERT_GT(means.size(), 500U);
    const auto [least, most] = std::minmax_element(means.begin(), means.end());
    // A stretch holds a part of a job more or less, and heights are rounded.
    EXPECT_LE(*most - *least, 1.5 + full * period / kStretch) << period << " pixels a period";
    EXPECT_NEAR(means.front(), 0.6 * full, 1 + full * period / kStretch);
    if (period < 0.1) {
      const auto [low, high] = std::minmax_element(heights.begin() + first, heights.begin() + last);
      EXPECT_LE(*high - *low, 1 + full * period) << "single columns, " << period;
      ++equalZooms;
    }
    chart.wheel({500, 200}, {0, 40}, Qt::ControlModifier);
  }
  EXPECT_GT(zooms, 20);
  EXPECT_GT(equalZooms, 5);
}

TEST(ExactShareTest, AColumnIsAsHighAsTheShareOfItsTimeAtEveryZoom) { checkAllZooms(100'000); }

TEST(ExactShareTest, SharesOfLongRunsAreExactToo) { checkAllZooms(400 * kNsPerMs); }

}  // namespace
}  // namespace pipetrace
