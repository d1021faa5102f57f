#include "viewer/causes/inside_parts.h"

#include <gmock/gmock.h>

#include "viewer/testing/explained_chart.h"
#include "viewer/testing/slow_peer_run.h"

namespace pipetrace {
namespace {

using testing::IsEmpty;

/// The chart of a run of which rank 0 waits for rank 1, with unfolded rows.
class InsidePartsTest : public testing::Test {
 protected:
  InsidePartsTest() { chart_.widget().foldAllRows(false); }

  const GraphPlaces& places() { return *chart_.causes().places(); }
  EventSpot spotOf(int rank, JobKind kind, int microBatch) {
    const Event& job = chart_.job(rank, kind, microBatch, 1);
    for (std::size_t row = 0; row < chart_.model().rows().size(); ++row) {
      const ChartRow& lanes = chart_.model().rows()[row];
      if (lanes.rank == rank && lanes.isCompute) return {row, &job};
    }
    throw std::out_of_range("no such rank");
  }
  JobGraph::Id idOf(int rank, JobKind kind, int microBatch) {
    return places().nodeOf(spotOf(rank, kind, microBatch));
  }
  QImage picture() { return chart_.widget().viewport()->grab().toImage(); }

  ExplainedChart chart_{runWithASlowPeer().timeline()};
};

TEST_F(InsidePartsTest, PiecesStandWhereTheJobWaitedAndMoved) {
  const std::vector<InsidePiece> pieces = piecesOf(places(), idOf(0, JobKind::kForward, 1));
  const Nanoseconds begin = spotOf(0, JobKind::kForward, 1).event->begin;
  // Two layers of 5 ms; the peer comes 1.25 ms later to each, and each moves for 0.3 ms.
  ASSERT_EQ(pieces.size(), 4U);
  constexpr Nanoseconds kUs = 1000;
  const Nanoseconds begins[] = {5000, 6250, 11'550, 12'800};
  const Nanoseconds lengths[] = {1250, 300, 1250, 300};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pieces[i].begin - begin, begins[i] * kUs) << i;
    EXPECT_EQ(pieces[i].end - pieces[i].begin, lengths[i] * kUs) << i;
    EXPECT_EQ(pieces[i].isWaiting, i % 2 == 0) << i;
  }
}

TEST_F(InsidePartsTest, PiecesAddUpToThePartsOfTheJob) {
  for (const int rank : {0, 1, 2, 3}) {
    for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
      const JobGraph::Id job = idOf(rank, kind, 2);
      const InsideJobs::Parts parts = places().graph().inside().partsOf(job);
      Nanoseconds waiting = 0;
      Nanoseconds moving = 0;
      for (const InsidePiece& piece : piecesOf(places(), job)) {
        (piece.isWaiting ? waiting : moving) += piece.end - piece.begin;
      }
      EXPECT_EQ(waiting, parts.waiting);
      EXPECT_EQ(moving, parts.moving);
    }
  }
}

TEST_F(InsidePartsTest, TheLongestWaitNamesTheMemberThatCameLastAndWhen) {
  const auto longest = longestWaitOf(places(), idOf(0, JobKind::kForward, 1));
  ASSERT_TRUE(longest);
  EXPECT_EQ(chart_.model().rows()[longest->last.row].rank, 1);
  EXPECT_EQ(longest->last.event->microBatch, 1);
  EXPECT_EQ(longest->wait.end, longest->came) << "the wait ends when that comes";
  EXPECT_FALSE(longestWaitOf(places(), idOf(1, JobKind::kForward, 1))) << "it waits for nobody";
}

TEST_F(InsidePartsTest, WideJobsShowTheirPartsAndNarrowOnesDoNot) {
  const EventSpot job = spotOf(0, JobKind::kForward, 1);
  const Color waiting = chart_.model().theme().tintOf(BubbleClass::kPeerWait);
  // A point in the upper edge of the job, while it waits.
  const auto colorOfTheWait = [&] {
    const ChartView view = chart_.widget().view();
    return picture().pixelColor(view.xOf(job.event->begin + 5'600'000),
                                view.yOf(view.layout[job.row].top) + 2);
  };
  chart_.widget().showSpan(job.event->begin, job.event->end);
  EXPECT_EQ(colorOfTheWait(), toQColor(waiting));
  chart_.widget().resize(500, 640);
  QCoreApplication::processEvents();
  chart_.widget().fit();
  EXPECT_NE(colorOfTheWait(), toQColor(waiting)) << "the job has a few pixels";
}

TEST_F(InsidePartsTest, ASelectedJobHasAnArrowToTheMemberThatCameLast) {
  const EventSpot job = spotOf(0, JobKind::kForward, 1);
  chart_.widget().showSpan(job.event->begin, job.event->end);
  const QImage before = picture();
  chart_.causes().goTo(job);
  const auto longest = longestWaitOf(places(), places().nodeOf(job));
  const ChartView view = chart_.widget().view();
  // Its head is where the member came, at the edge of that one's row.
  const int x = view.xOf(longest->came);
  const int y = view.yOf(view.layout[longest->last.row].top) - 2;
  const QImage after = picture();
  EXPECT_NE(after.pixelColor(x, y), before.pixelColor(x, y));
}

TEST_F(InsidePartsTest, ARunWithoutMeetingsHasNoPieces) {
  ExplainedChart plain(makeTestTimeline({}));
  EXPECT_THAT(piecesOf(*plain.causes().places(), 0), IsEmpty());
  EXPECT_FALSE(longestWaitOf(*plain.causes().places(), 0));
}

}  // namespace
}  // namespace pipetrace
