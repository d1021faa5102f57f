#include <gmock/gmock.h>

#include <QStatusBar>
#include <QTest>

#include "viewer/testing/growing_logs.h"
#include "viewer/testing/shown_window.h"
#include "viewer/window/main_window.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

class FollowWindowTest : public testing::Test {
 protected:
  FollowWindowTest() {
    showActive(window_);
    window_.follow({QString::fromStdString(live_.path())});
  }
  bool hasSteps(std::size_t steps) {
    return QTest::qWaitFor(
        [&] {
          return window_.profile() != nullptr && window_.profile()->model().steps().size() >= steps;
        },
        20'000);
  }

  GrowingLogs live_{{.ranks = 3, .microBatches = 4, .steps = 6}};
  MainWindow window_;
};

TEST_F(FollowWindowTest, AMessageStandsThereUntilTheFirstStepIsFinished) {
  EXPECT_THAT(window_.message().toStdString(), HasSubstr("Following " + live_.path()));
  live_.growTo(3);
  ASSERT_TRUE(hasSteps(1));
  EXPECT_EQ(window_.message(), "");
}

TEST_F(FollowWindowTest, TheChartGrowsWithTheRunAndKeepsWhatWasSelected) {
  live_.growTo(2);
  ASSERT_TRUE(hasSteps(1));
  window_.chart()->fit();
  const ChartView view = window_.chart()->view();
  const Event job = view.model.rows()[0].lanes[0][2];
  QTest::mouseClick(window_.chart()->viewport(), Qt::LeftButton, Qt::NoModifier,
                    QPoint(view.xOf(job.begin + job.duration() / 2),
                           view.yOf(view.layout[0].top + view.layout[0].height / 2)));
  ASSERT_TRUE(window_.chart()->selection());
  live_.growTo(6);
  live_.close();
  ASSERT_TRUE(hasSteps(6));
  ASSERT_TRUE(window_.chart()->selection());
  EXPECT_EQ(window_.chart()->selection()->event->begin, job.begin);
  EXPECT_TRUE(window_.chart()->isFitted());
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.explanation() != nullptr; }, 20'000));
  EXPECT_EQ(window_.explanation()->ranks.size(), 3U) << "the run is explained at its end";
}

TEST_F(FollowWindowTest, AnotherProfileEndsTheFollowing) {
  live_.growTo(2);
  ASSERT_TRUE(hasSteps(1));
  const TestLogs other({.ranks = 2});
  window_.open({QString::fromStdString(other.path())});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile()->model().rankCount() == 2; }, 20'000));
  live_.growTo(5);
  QTest::qWait(400);
  EXPECT_EQ(window_.profile()->model().rankCount(), 2U);
}

TEST(FollowTest, AFolderThatIsNotThereIsAMessage) {
  MainWindow window;
  showActive(window);
  window.follow({"/nonexistent/logs"});
  EXPECT_THAT(window.message().toStdString(), HasSubstr("cannot follow /nonexistent/logs"));
}

}  // namespace
}  // namespace pipetrace
