// What tooltips and details say of jobs in which ranks meet.
#include <gmock/gmock.h>

#include <stdexcept>

#include "viewer/panels/details_panel.h"
#include "viewer/testing/explained_chart.h"
#include "viewer/testing/shown_window.h"
#include "viewer/testing/slow_peer_run.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines detailsOf(ExplainedChart& chart, int rank, JobKind kind, int microBatch) {
  // Rows of tensor-parallel peers start folded.
  const GraphPlaces& places = *chart.causes().places();
  const Event& job = chart.job(rank, kind, microBatch);
  for (std::size_t row = 0; row < chart.model().rows().size(); ++row) {
    const bool isIt = places.nodeOf({row, &job}) != JobGraph::kNone;
    if (isIt && chart.model().rows()[row].isCompute) chart.causes().goTo({row, &job});
  }
  Lines lines;
  for (const DetailRow& row :
       detailRows(chart.widget(), chart.causes(), *chart.widget().selection())) {
    lines.emplace_back(row.name.toStdString(), row.value.toStdString());
  }
  return lines;
}

TEST(InsideJobDetailsTest, AJobHasItsFourPartsAndTheKindsOfGroupsThatItWaitedIn) {
  ExplainedChart chart(runWithASlowPeer().timeline());
  EXPECT_THAT(detailsOf(chart, 0, JobKind::kForward, 1),
              AllOf(Contains(Pair("Duration", "13.10 ms (13100000 ns)")),
                    Contains(Pair("Own", "10.00 ms (10000000 ns)")),
                    Contains(Pair("Waiting", "2.500 ms (2500000 ns)")),
                    Contains(Pair("Moving", "600.0 us (600000 ns)")),
                    Contains(Pair("Launch-bound", "0 ns")),
                    Contains(Pair("Waiting in", "2.500 ms tensor-parallel all-reduce")),
                    Contains(Pair("Moving in", "600.0 us tensor-parallel all-reduce")),
                    Not(Contains(Pair(HasSubstr("_ns"), testing::_)))));
  EXPECT_THAT(
      detailsOf(chart, 1, JobKind::kForward, 1),
      AllOf(Contains(Pair("Own", "12.50 ms (12500000 ns)")), Contains(Pair("Waiting", "0 ns")),
            Not(Contains(Pair("Waiting in", testing::_)))));
}

TEST(InsideJobDetailsTest, EachKindOfGroupHasALine) {
  HybridRun made = runWithASlowPeer();
  made.replicas = 2;
  made.sharesWeights = true;
  ExplainedChart chart(made.timeline());
  Lines moving;
  for (const auto& line : detailsOf(chart, 2, JobKind::kBackward, 1)) {
    if (line.first == "Moving in" || (line.first.empty() && !moving.empty())) {
      moving.push_back(line);
    } else if (moving.size() > 1) {
      break;
    }
  }
  EXPECT_THAT(moving, ElementsAre(Pair("Moving in", "300.0 us data-parallel all-gather"),
                                  Pair("", "300.0 us data-parallel reduce-scatter"),
                                  Pair("", "600.0 us tensor-parallel all-reduce")));
}

TEST(InsideJobDetailsTest, TheTooltipOfAJobHasThem) {
  ExplainedChart chart(runWithASlowPeer().timeline());
  QTest::mouseMove(chart.widget().viewport(),
                   chart.middleOf(0, chart.job(0, JobKind::kForward, 1)));
  EXPECT_THAT(awaitToolTip("Waiting in"),
              AllOf(HasSubstr("10.00 ms (10000000 ns)"), HasSubstr("Launch-bound"),
                    HasSubstr("2.500 ms tensor-parallel all-reduce")));
}

TEST(InsideJobDetailsTest, AJobOfARunWithoutSuchCollectivesHasNoParts) {
  ExplainedChart chart(makeTestTimeline({}));
  EXPECT_THAT(
      detailsOf(chart, 1, JobKind::kForward, 1),
      AllOf(Not(Contains(Pair("Own", testing::_))), Not(Contains(Pair("Moving in", testing::_)))));
}

}  // namespace
}  // namespace pipetrace
