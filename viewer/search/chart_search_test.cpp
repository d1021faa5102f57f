#include "viewer/search/chart_search.h"

#include <gmock/gmock.h>

#include <QSignalSpy>
#include <QToolButton>

#include "chart/testing/rows_text.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/search/only_matches.h"
#include "viewer/search/search_bar.h"
#include "viewer/testing/shown_chart.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

/// A chart with a search and its bar.
struct SearchedChart : ShownChart {
  explicit SearchedChart(const TestRun& run = {}) : SearchedChart(makeTestTimeline(run)) {}
  explicit SearchedChart(Timeline timeline)
      : ShownChart(std::move(timeline)), search(*new ChartSearch(widget())), bar(search) {
    bar.resize(900, 60);
    bar.open();
    field = bar.findChild<QLineEdit*>();
    showActive(bar);
    field->setFocus();
  }

  void type(const QString& query) {
    field->clear();
    QTest::keyClicks(field, query);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !search.isBusy(); }, 20'000));
  }
  void enter(Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(field, Qt::Key_Return, modifiers);
  }
  std::string texts() const {
    QString all;
    for (const QLabel* label : bar.findChildren<QLabel*>()) all += label->text() + "\n";
    return all.toStdString();
  }
  const Event* selected() const {
    return widget().selection() ? widget().selection()->event : nullptr;
  }

  ChartSearch& search;
  SearchBar bar;
  QLineEdit* field = nullptr;
};

TEST(ChartSearchTest, EnterWalksThroughTheMatchesAndRound) {
  SearchedChart chart({.ranks = 4, .microBatches = 8, .steps = 3});
  chart.type("kind:forward mb:5 rank:1");
  EXPECT_THAT(chart.texts(), HasSubstr("3 matches"));
  EXPECT_EQ(chart.selected(), nullptr) << "typing moves nothing";
  for (int i = 0; i < 7; ++i) {
    chart.enter();
    EXPECT_EQ(chart.selected(), &chart.job(1, JobKind::kForward, 5, i % 3)) << i;
    EXPECT_THAT(chart.texts(), HasSubstr(std::to_string(i % 3 + 1) + " of 3"));
  }
  chart.enter(Qt::ShiftModifier);
  EXPECT_EQ(chart.selected(), &chart.job(1, JobKind::kForward, 5, 2)) << "back round";
}

TEST(ChartSearchTest, EnterWaitsForTheFirstMatch) {
  SearchedChart chart({.steps = 3});
  QTest::keyClicks(chart.field, "kind:forward mb:5 rank:1");
  ASSERT_EQ(chart.search.count(), 0U) << "nothing was looked at yet";
  chart.enter();
  ASSERT_TRUE(QTest::qWaitFor([&] { return chart.selected() != nullptr; }, 20'000));
  EXPECT_EQ(chart.selected(), &chart.job(1, JobKind::kForward, 5, 0));
}

TEST(ChartSearchTest, TheFirstMatchIsTheFirstInView) {
  SearchedChart chart({.steps = 3});
  const StepSpan second = chart.model().steps()[1];
  chart.widget().showTime(second.begin, second.end);
  chart.type("kind:forward mb:5 rank:1");
  chart.enter();
  EXPECT_EQ(chart.selected(), &chart.job(1, JobKind::kForward, 5, 1));
  EXPECT_THAT(chart.texts(), HasSubstr("2 of 3"));
}

TEST(ChartSearchTest, AMatchOutOfViewIsBroughtIntoView) {
  SearchedChart chart({.ranks = 40, .steps = 3});
  chart.widget().showTime(chart.model().steps()[0].begin, chart.model().steps()[0].end);
  chart.type("rank:39 step:2 kind:backward mb:7");
  chart.enter();
  const Event& job = chart.job(39, JobKind::kBackward, 7, 2);
  ASSERT_EQ(chart.selected(), &job);
  const ChartView view = chart.widget().view();
  EXPECT_TRUE(view.axis.begin() <= job.begin && job.end <= view.axis.end());
  const RowPlace place = view.layout[chart.widget().selection()->row];
  EXPECT_GE(place.top, view.scrollY);
  EXPECT_LE(place.bottom(), view.scrollY + view.area.height);
}

TEST(ChartSearchTest, MatchesAreMarkedAndEscapeEndsThat) {
  SearchedChart chart;
  const Event& job = chart.job(1, JobKind::kForward, 5, 2);
  const QPoint at = chart.middleOf(1, job);
  const auto pixel = [&](QPoint point) {
    return chart.widget().viewport()->grab().toImage().pixelColor(point);
  };
  const QPoint inside(at.x(), at.y() + 12);
  const QPoint other = chart.middleOf(1, chart.job(1, JobKind::kForward, 4, 2)) + QPoint(0, 12);
  const QColor before = pixel(inside);
  const QColor otherBefore = pixel(other);
  chart.type("kind:forward mb:5 rank:1");
  EXPECT_NE(pixel(inside), before);
  EXPECT_EQ(pixel(other), otherBefore);
  const QSignalSpy closed(&chart.bar, &SearchBar::closed);
  QTest::keyClick(chart.field, Qt::Key_Escape);
  EXPECT_EQ(closed.count(), 1);
  EXPECT_FALSE(chart.bar.isVisible());
  EXPECT_EQ(pixel(inside), before);
}

TEST(ChartSearchTest, EachMatchIsMarkedHoweverNarrow) {
  SearchedChart chart({.ranks = 2, .steps = 60});
  chart.type("kind:lr");
  ASSERT_EQ(chart.search.count(), 120U);
  const QImage marked = chart.widget().viewport()->grab().toImage();
  for (int step = 0; step < 60; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      const Event& job = chart.job(rank, JobKind::kLr, 0, step);
      const int y = chart.middleOf(rank, job).y();
      const int x = chart.widget().view().xOf(job.begin);
      const QColor color = marked.pixelColor(std::max(x, chart.widget().view().area.x), y);
      EXPECT_TRUE(color.red() > 200 && color.blue() < 60) << rank << " " << step;
    }
  }
}

TEST(ChartSearchTest, AMistakeIsExplainedOnceItIsMeant) {
  SearchedChart chart;
  chart.type("kind:");
  EXPECT_THAT(chart.texts(), testing::Not(HasSubstr("has no value"))) << "it is being typed";
  chart.enter();
  EXPECT_THAT(chart.texts(), HasSubstr("'kind:' has no value"));
  chart.type("rank:77");
  EXPECT_THAT(chart.texts(), HasSubstr("no match"));
}

TEST(ChartSearchTest, ButtonsDoWhatTheKeysDo) {
  SearchedChart chart;
  chart.type("kind:forward mb:5 rank:1");
  const auto click = [&](const QString& name) {
    for (QToolButton* button : chart.bar.findChildren<QToolButton*>()) {
      if (button->accessibleName() == name) return button->click();
    }
    FAIL() << name.toStdString();
  };
  click("Next match");
  EXPECT_EQ(chart.selected(), &chart.job(1, JobKind::kForward, 5, 0));
  click("Previous match");
  EXPECT_EQ(chart.selected(), &chart.job(1, JobKind::kForward, 5, 2));
  click("End the search");
  EXPECT_FALSE(chart.bar.isVisible());
}

TEST(ChartSearchTest, AnotherModelIsSearchedForTheSame) {
  SearchedChart chart({.ranks = 4, .steps = 3});
  chart.type("kind:forward mb:5 rank:1");
  const Timeline timeline = makeTestTimeline({.ranks = 2, .steps = 5});
  const ChartModel other(timeline);
  chart.widget().setModel(&other);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !chart.search.isBusy(); }, 20'000));
  EXPECT_EQ(chart.search.count(), 5U);
  EXPECT_EQ(chart.search.current(), 0U);
  chart.widget().setModel(nullptr);
  EXPECT_EQ(chart.search.count(), 0U);
  chart.enter();
}

TEST(ChartSearchTest, ALongSearchLetsTheWindowGoOn) {
  Timeline timeline;
  std::vector<Event>& events = timeline.track(0, kComputeLane).events;
  events.resize(2'000'000);
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].begin = static_cast<Nanoseconds>(i) * 10;
    events[i].end = events[i].begin + 8;
    events[i].kind = JobKind::kForward;
    events[i].microBatch = static_cast<std::int32_t>(i % 1000);
  }
  SearchedChart chart(std::move(timeline));
  chart.search.start("forward mb:999");
  EXPECT_TRUE(chart.search.isBusy());
  int others = 0;
  QTimer other;
  QObject::connect(&other, &QTimer::timeout, [&others] { ++others; });
  other.start(1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !chart.search.isBusy(); }, 20'000));
  EXPECT_GT(others, 1) << "other events came between the slices";
  EXPECT_EQ(chart.search.count(), 2000U);
  chart.search.start("forward");
  chart.search.clear();
  EXPECT_FALSE(chart.search.isBusy());
  EXPECT_EQ(chart.search.count(), 0U);
}

class OnlyMatchesTest : public testing::Test {
 protected:
  OnlyMatchesTest() : chart_({.ranks = 4}), only_(chart_.widget(), chart_.search) {
    for (QAction* action : commandsOf(chart_.widget(), CommandMenu::kRows)) {
      if (action->objectName() == QLatin1String("only-matches")) isOn_ = action;
    }
  }
  std::string rows() { return rowsText(chart_.model(), chart_.widget().rowState()); }

  SearchedChart chart_;
  OnlyMatches only_;
  QAction* isOn_ = nullptr;
};

TEST_F(OnlyMatchesTest, RowsWithoutAMatchAreLeftOutUntilTheSearchEnds) {
  const std::string all = rows();
  chart_.type("rank:1,3 kind:forward mb:2");
  EXPECT_EQ(rows(), all) << "the switch is off";
  isOn_->setChecked(true);
  EXPECT_EQ(rows(), "- rank 1\n- rank 3\n");
  chart_.type("rank:2 kind:send_forward");
  EXPECT_EQ(rows(), ". rank 2\n  . send\n") << "with the row that it is under";
  chart_.search.clear();
  EXPECT_EQ(rows(), all);
}

TEST_F(OnlyMatchesTest, TheSwitchBringsAllRowsBackAndSoDoesAJobThatIsGoneTo) {
  const std::string all = rows();
  chart_.type("rank:1 kind:forward");
  isOn_->setChecked(true);
  EXPECT_NE(rows(), all);
  isOn_->setChecked(false);
  EXPECT_EQ(rows(), all);
  isOn_->setChecked(true);
  std::size_t row = 0;
  while (chart_.model().rows()[row].rank != 3) ++row;
  const Event& job = chart_.job(3, JobKind::kForward, 0);
  chart_.widget().goTo({.row = row, .event = &job, .count = 1, .load = {}, .span = 0});
  EXPECT_EQ(rows(), all);
}

}  // namespace
}  // namespace pipetrace
