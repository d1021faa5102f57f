#include "viewer/chart/chart_stack.h"

#include <gtest/gtest.h>

#include <QScrollBar>
#include <QVBoxLayout>
#include <memory>

#include "analysis/run/run.h"
#include "chart/testing/timelines.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

struct DrawnRun {
  explicit DrawnRun(const TestRun& of) : run(makeTestTimeline(of)) {}
  Run run;
  ChartModel model{run.timeline(), run.topology()};
};

/// A chart, and two of other runs under it, each of which begins below the first one's step 1.
class ChartStackTest : public testing::Test {
 protected:
  ChartStackTest() {
    main_->setModel(&a_.model);
    stack_ = std::make_unique<ChartStack>(*main_);
    stack_->resize(1200, 900);
    first_ = addUnder();
    second_ = addUnder();
    showActive(*stack_);
  }
  ~ChartStackTest() override { main_->setModel(nullptr); }

  ChartWidget* addUnder() {
    auto* pane = new QWidget;
    auto* chart = new ChartWidget(nullptr, ChartRole::kUnder);
    (new QVBoxLayout(pane))->addWidget(chart);
    pane->layout()->setContentsMargins(0, 0, 0, 0);
    stack_->add(*pane);
    return chart;
  }
  void show(ChartWidget& chart, const DrawnRun& run) {
    chart.parentWidget()->show();
    stack_->show(chart, run.model, [this, &run] { return offsetOf(run); });
    QCoreApplication::processEvents();
  }
  Nanoseconds offsetOf(const DrawnRun& run) const {
    return run.model.steps()[0].begin - a_.model.steps()[1].begin;
  }
  void expectTogether(const ChartWidget& chart, const DrawnRun& run) const {
    const ChartView above = main_->view();
    const ChartView below = chart.view();
    EXPECT_EQ(above.axis.begin() + offsetOf(run), below.axis.begin());
    EXPECT_EQ(above.axis.span(), below.axis.span());
    EXPECT_EQ(above.axis.width(), below.axis.width());
    EXPECT_EQ(above.area.x, below.area.x);
  }
  void expectTogether() const {
    expectTogether(*first_, b_);
    expectTogether(*second_, c_);
  }

  DrawnRun a_{{}};
  DrawnRun b_{{.backward = 25 * kNsPerMs}};
  DrawnRun c_{{.ranks = 8, .steps = 6}};
  ChartWidget* main_ = new ChartWidget;
  std::unique_ptr<ChartStack> stack_;
  ChartWidget* first_ = nullptr;
  ChartWidget* second_ = nullptr;
};

TEST_F(ChartStackTest, AllMoveAsOneWhicheverLeads) {
  show(*first_, b_);
  show(*second_, c_);
  expectTogether();
  main_->zoomBy(3);
  expectTogether();
  first_->panBy(0.2);
  expectTogether();
  const Nanoseconds before = main_->view().axis.span();
  second_->zoomBy(1);
  EXPECT_LT(main_->view().axis.span(), before);
  expectTogether();
  stack_->resize(900, 700);
  QCoreApplication::processEvents();
  expectTogether();
}

TEST_F(ChartStackTest, OneThatGoesFurtherThanTheMainChartCanComesBack) {
  show(*second_, c_);
  const Timeline::Span whole = c_.model.span();
  second_->showSpan(whole.end - kNsPerMs, whole.end);
  expectTogether(*second_, c_);
  EXPECT_LE(main_->view().axis.end(), a_.model.span().end + a_.model.medianStep());
}

TEST_F(ChartStackTest, RowsOfOneAreThoseOfAll) {
  show(*first_, b_);
  show(*second_, c_);
  RowState state;
  state.filter = "rank 2";
  first_->setRowState(state);
  EXPECT_EQ(main_->rowState().filter, "rank 2");
  EXPECT_EQ(second_->rowState().filter, "rank 2");
  state.height = 20;
  main_->setRowState(state);
  EXPECT_EQ(first_->rowState().height, 20);
  EXPECT_EQ(second_->computeHeight(), 20);
}

TEST_F(ChartStackTest, AnotherModelOfAChartHasTheRowsAndTheTimeOfTheMainOne) {
  show(*first_, b_);
  main_->zoomBy(4);
  RowState state;
  state.filter = "rank 1";
  main_->setRowState(state);
  const Nanoseconds begin = main_->view().axis.begin();
  show(*first_, c_);
  EXPECT_EQ(main_->view().axis.begin(), begin);
  EXPECT_EQ(first_->rowState().filter, "rank 1");
  expectTogether(*first_, c_);
}

TEST_F(ChartStackTest, OneThatIsClearedMovesNothingAndTheOthersGoOn) {
  show(*first_, b_);
  show(*second_, c_);
  EXPECT_FALSE(stack_->isAlone());
  stack_->clear(*first_);
  EXPECT_EQ(first_->model(), nullptr);
  main_->zoomBy(2);
  expectTogether(*second_, c_);
  delete second_;  // without clear()
  EXPECT_TRUE(stack_->isAlone());
  EXPECT_EQ(main_->verticalScrollBarPolicy(), Qt::ScrollBarAsNeeded);
  main_->zoomBy(2);
}

TEST_F(ChartStackTest, RowsOfAllChartsHaveAboutTheSameRoom) {
  const auto room = [](const ChartWidget& chart) { return chart.view().area.height; };
  show(*first_, b_);
  EXPECT_NEAR(room(*main_), room(*first_), 40);
  show(*second_, c_);
  EXPECT_NEAR(room(*main_), room(*second_), 40);
  EXPECT_NEAR(room(*first_), room(*second_), 2);
}

}  // namespace
}  // namespace pipetrace
