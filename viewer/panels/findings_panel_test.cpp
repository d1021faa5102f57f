#include "viewer/panels/findings_panel.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QClipboard>
#include <QSignalSpy>

#include "analysis/present/run_report.h"
#include "analysis/testing/faulty_run.h"
#include "viewer/panels/details_panel.h"
#include "viewer/testing/explained_chart.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

/// 1F1B on four ranks; stage 2 is 1.3 times as slow, and each message takes 1 ms.
Timeline slowStage() {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = test::costsOf(plan, 1);
  test::scaleRank(costs, plan, 2, 1.3);
  return test::completedRun(plan, costs);
}

class FindingsPanelTest : public testing::Test {
 protected:
  FindingsPanelTest() : chart_(slowStage()), panel_(chart_.causes()) {
    panel_.resize(900, 180);
    panel_.show();
    panel_.showFindings();
    QCoreApplication::processEvents();
  }

  QListWidget* list() { return panel_.findChild<QListWidget*>(); }
  void click(int finding) {
    QTest::mouseClick(list()->viewport(), Qt::LeftButton, {},
                      list()->visualItemRect(list()->item(finding)).center());
  }
  QToolButton* button(const QString& name) {
    for (QToolButton* each : panel_.findChildren<QToolButton*>()) {
      if (each->accessibleName() == name) return each;
    }
    throw std::out_of_range("no such button");
  }
  const Event& selected() { return *chart_.widget().selection()->event; }
  bool isSelectedInView() {
    const TimeAxis axis = chart_.widget().view().axis;
    return axis.begin() <= selected().begin && selected().end <= axis.end();
  }

  ExplainedChart chart_;
  FindingsPanel panel_;
};

TEST_F(FindingsPanelTest, ItHasTheSentencesOfTheReport) {
  const Diagnostics none;
  const std::string report =
      runReportText({.explanation = chart_.explanation(), .diagnostics = none});
  ASSERT_GE(list()->count(), 3);
  for (int i = 0; i < list()->count(); ++i) {
    // The report adds how minor findings can be seen.
    const std::string line = "  " + list()->item(i)->text().toStdString();
    EXPECT_THAT(report, AnyOf(HasSubstr(line + "\n"), HasSubstr(line + ": --all\n")));
  }
  EXPECT_THAT(list()->item(0)->text().toStdString(), HasSubstr("stage 2 (rank 2) takes 1.30"));
}

TEST_F(FindingsPanelTest, AClickGoesToTheLongestBubbleAndButtonsToTheOtherPlaces) {
  for (int i = 0; i < 6; ++i) chart_.wheel({600, 300}, {0, 120});  // far into the run
  click(0);
  ASSERT_TRUE(chart_.widget().selection());
  EXPECT_EQ(selected().kind, JobKind::kBubble);
  EXPECT_EQ(selected().bubbleClass, BubbleClass::kImbalance);
  EXPECT_TRUE(isSelectedInView());
  const Nanoseconds longest = selected().duration();
  EXPECT_FALSE(button("Previous evidence")->isEnabled());
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(selected().duration(), longest);
    button("Next evidence")->click();
    EXPECT_TRUE(isSelectedInView());
  }
  EXPECT_EQ(selected().stage, 2) << "the last place is the culprit";
  EXPECT_FALSE(button("Next evidence")->isEnabled());
  button("Previous evidence")->click();
  EXPECT_EQ(selected().kind, JobKind::kBubble);
}

TEST_F(FindingsPanelTest, EnterGoesToTheEvidenceToo) {
  list()->setFocus();
  QTest::keyClick(list(), Qt::Key_Down);
  QTest::keyClick(list(), Qt::Key_Return);
  ASSERT_TRUE(chart_.widget().selection());
  EXPECT_EQ(selected().bubbleClass, BubbleClass::kTransfer);
}

TEST_F(FindingsPanelTest, TheLineOfMinorCausesUnfoldsAndFoldsThem) {
  const auto lineWith = [&](const char* text) {
    int row = 0;
    while (row < list()->count() && !list()->item(row)->text().contains(QLatin1String(text))) ++row;
    return row;
  };
  const int before = list()->count();
  const auto& findings = chart_.explanation().findings;
  const auto minor = static_cast<int>(std::count_if(
      findings.begin(), findings.end(), [](const Finding& each) { return each.isMinor; }));
  ASSERT_GT(minor, 0);
  const int line = lineWith("more cause");
  ASSERT_LT(line, before);
  list()->scrollToItem(list()->item(line));
  click(line);
  EXPECT_EQ(list()->count(), before + minor);
  EXPECT_EQ(list()->currentRow(), line) << "the first of them";
  EXPECT_THAT(list()->item(line)->text().toStdString(),
              testing::StartsWith(std::to_string(line + 1) + ". "));
  list()->setFocus();
  list()->setCurrentRow(lineWith("fewer causes"));
  QTest::keyClick(list(), Qt::Key_Return);
  EXPECT_EQ(list()->count(), before);
}

TEST_F(FindingsPanelTest, ItSaysThatCausesAreLookedFor) {
  panel_.showWaiting();
  EXPECT_EQ(list()->item(0)->text(), "Looking for causes …");
  click(0);
  EXPECT_FALSE(chart_.widget().selection());
}

TEST(FindingsPanelOfALongFirstStep, ItsLastLineSaysThatTheStepIsLeftOut) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = test::costsOf(plan, 1);
  costs.faults.jobs = {{{JobKind::kForward, 1, 4}, 0, 400 * kNsPerMs, 0}};
  ExplainedChart chart(test::completedRun(plan, costs));
  FindingsPanel panel(chart.causes());
  panel.showFindings();
  const auto* list = panel.findChild<QListWidget*>();
  EXPECT_THAT(list->item(list->count() - 1)->text().toStdString(),
              AllOf(testing::StartsWith("step 0 takes "), HasSubstr("and is left out")));
}

TEST(DetailsPanelTest, LinksLeadToTheJobsThatItWaitedFor) {
  ExplainedChart chart(makeTestTimeline({.steps = 2}));
  DetailsPanel panel(chart.widget(), chart.causes());
  panel.resize(320, 600);
  panel.show();
  chart.select(1, JobKind::kForward, 0, 1);
  auto* tree = panel.findChild<QTreeWidget*>();
  const auto itemOf = [&](const QString& text) {
    const auto found = tree->findItems(text, Qt::MatchStartsWith, 1);
    return found.isEmpty() ? nullptr : found.front();
  };
  ASSERT_NE(itemOf("0F0 on rank 0"), nullptr);
  QTest::mouseClick(tree->viewport(), Qt::LeftButton, {},
                    tree->visualItemRect(itemOf("0F0 on rank 0")).center());
  QCoreApplication::processEvents();
  EXPECT_EQ(chart.selected(), "0F0");
  ASSERT_NE(itemOf("1F0 on rank 1"), nullptr) << "and back";
  tree->setCurrentItem(itemOf("1F0 on rank 1"));
  QTest::keyClick(tree, Qt::Key_Return);
  QCoreApplication::processEvents();
  EXPECT_EQ(chart.selected(), "1F0");
}

TEST(DetailsPanelTest, CtrlCCopiesAllLines) {
  ExplainedChart chart(makeTestTimeline({.steps = 2}));
  DetailsPanel panel(chart.widget(), chart.causes());
  panel.show();
  chart.select(1, JobKind::kForward, 0, 1);
  auto* tree = panel.findChild<QTreeWidget*>();
  showActive(panel);
  tree->setFocus();
  ASSERT_TRUE(QTest::qWaitFor([&] { return tree->hasFocus(); }, 20'000));
  QTest::keyClick(tree, Qt::Key_C, Qt::ControlModifier);
  EXPECT_THAT(QApplication::clipboard()->text().toStdString(),
              AllOf(HasSubstr("Name\tforward 0\n"), HasSubstr("Slack\t"),
                    HasSubstr("Waited for\tlr on rank 1, job before\n")));
}

}  // namespace
}  // namespace pipetrace
