#include "chart/lane_piece.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "chart/testing/paper_colors.h"

namespace pipetrace {
namespace {

Event job(Nanoseconds begin, Nanoseconds end, JobKind kind = JobKind::kForward) {
  Event event;
  event.begin = begin;
  event.end = end;
  event.kind = kind;
  return event;
}

std::vector<LanePiece> piecesOf(const std::vector<Event>& events, const TimeAxis& axis) {
  const LaneIndex lane(events, kPaperColors);
  std::vector<LanePiece> pieces;
  cutIntoPieces(lane, axis, pieces);
  return pieces;
}

/// Jobs in a row with a third of idle time.
std::vector<Event> denseLane(std::size_t count) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<Nanoseconds>(i) * 30;
    events.push_back(job(begin, begin + 20, i % 2 == 0 ? JobKind::kForward : JobKind::kBackward));
  }
  return events;
}

TEST(LanePieceTest, WideJobsAreCellsAtTheirPixels) {
  TimeAxis axis(0, 1000, 1020);  // 1 ns per pixel, margin 10
  const auto pieces = piecesOf({job(100, 200), job(200, 350), job(900, 1000)}, axis);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_FALSE(pieces[0].isColumn);
  EXPECT_EQ(pieces[0].left, 110);
  EXPECT_EQ(pieces[0].right, 210);
  EXPECT_EQ(pieces[1].left, 210);
  EXPECT_EQ(pieces[1].right, 360);
  EXPECT_EQ(pieces[2].first, 2U);
}

TEST(LanePieceTest, AJobAloneIsVisibleHoweverShort) {
  TimeAxis axis(0, 1'000'000, 100);
  const auto pieces = piecesOf({job(0, 0), job(500'000, 500'001), job(999'000, 1'000'000)}, axis);
  ASSERT_EQ(pieces.size(), 3U);
  for (const LanePiece& piece : pieces) {
    EXPECT_FALSE(piece.isColumn);
    EXPECT_GE(piece.right - piece.left, 1);
    EXPECT_LE(piece.right - piece.left, 2) << "as far as it lies across two pixels";
  }
}

TEST(LanePieceTest, OfRegularShortJobsAllAreAloneOrNoneAtEveryZoom) {
  std::vector<Event> events;
  for (int i = 0; i < 1000; ++i) events.push_back(job(i * 1000, i * 1000 + 200));
  int zoomsAlone = 0;
  for (int width = 1000; width < 8000; width += 7) {
    const auto pieces = piecesOf(events, TimeAxis(0, events.back().end, width));
    std::size_t alone = 0;
    for (const LanePiece& piece : pieces) {
      // The first and the last have free space on one side.
      const bool isInner = piece.first > 0 && piece.first + piece.count < events.size();
      if (isInner && !piece.isColumn) ++alone;
    }
    EXPECT_TRUE(alone == 0 || alone == events.size() - 2) << alone << " alone in " << width;
    zoomsAlone += alone > 0 ? 1 : 0;
  }
  EXPECT_GT(zoomsAlone, 100);
  EXPECT_LT(zoomsAlone, 900);
}

TEST(LanePieceTest, ColumnsHaveTheExactShareOfTheirPixel) {
  const std::vector<Event> events = denseLane(100'000);
  const TimeAxis axis(0, events.back().end, 500);
  const auto pieces = piecesOf(events, axis);
  Nanoseconds busy = 0;
  for (const LanePiece& piece : pieces) {
    ASSERT_TRUE(piece.isColumn);
    ASSERT_EQ(piece.right, piece.left + 1);
    Nanoseconds byHand = 0;
    const Nanoseconds begin = axis.timeAt(piece.left);
    const Nanoseconds end = axis.timeAt(piece.left + 1);
    for (std::size_t i = piece.first; i < piece.first + piece.count; ++i) {
      byHand += std::min(events[i].end, end) - std::max(events[i].begin, begin);
    }
    EXPECT_EQ(piece.load.busy, byHand);
    EXPECT_EQ(piece.span, end - begin);
    busy += piece.load.busy;
  }
  EXPECT_EQ(busy, 100'000 * 20) << "no job is lost, none counted twice";
}

TEST(LanePieceTest, ThereAreAtMostTwoPiecesPerPixelHoweverManyJobs) {
  const std::vector<Event> events = denseLane(300'000);
  TimeAxis axis(0, events.back().end, 800);
  for (int zooms = 0; zooms < 60; ++zooms) {
    EXPECT_LE(piecesOf(events, axis).size(), 2U * 800U);
    axis.zoom(311, 3, 4);
  }
}

TEST(LanePieceTest, AtEveryZoomEachJobInViewIsInAPiece) {
  std::mt19937 random(17);
  std::vector<Event> events;
  Nanoseconds time = 0;
  for (int i = 0; i < 2000; ++i) {
    time += static_cast<Nanoseconds>(random() % 3 == 0 ? random() % 5000 : 0);
    const auto length = static_cast<Nanoseconds>(random() % (random() % 4 == 0 ? 9000 : 60));
    events.push_back(job(time, time + length));
    time += length;
  }
  TimeAxis axis(0, time, 640);
  for (int zooms = 0; zooms < 50; ++zooms) {
    std::vector<int> seen(events.size(), 0);
    int freeFrom = 0;
    for (const LanePiece& piece : piecesOf(events, axis)) {
      ASSERT_LT(piece.left, piece.right);
      ASSERT_GE(std::max(piece.left, 0), freeFrom - 1) << "from left to right";
      freeFrom = std::max(piece.left, 0);
      for (std::size_t i = 0; i < piece.count; ++i) seen[piece.first + i] = 1;
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
      const bool isInView = events[i].begin < axis.end() && events[i].end > axis.begin();
      ASSERT_TRUE(seen[i] == 1 || !isInView) << i << " at zoom " << zooms;
      const bool isOut = events[i].begin >= axis.end() || events[i].end < axis.begin() - 1;
      ASSERT_TRUE(seen[i] == 0 || !isOut) << i << " at zoom " << zooms;
    }
    axis.zoom(401, 4, 5);
  }
}

}  // namespace
}  // namespace pipetrace
