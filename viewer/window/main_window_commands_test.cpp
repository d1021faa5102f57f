#include <gmock/gmock.h>

#include <QDialog>
#include <QDockWidget>
#include <QListWidget>
#include <QMenuBar>
#include <QTest>
#include <QTextBrowser>

#include "viewer/chart/chart_commands.h"
#include "viewer/commands/command_groups.h"
#include "viewer/testing/profile.h"
#include "viewer/testing/shown_window.h"
#include "viewer/window/keys_help.h"
#include "viewer/window/main_window.h"

// Search, the palette and the lists, in the window.
namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class WindowCommandsTest : public testing::Test {
 protected:
  WindowCommandsTest() {
    showActive(window_);
    window_.open({QString::fromStdString(logs_.path())});
    EXPECT_TRUE(QTest::qWaitFor([&] { return window_.profile() != nullptr; }, 20'000));
    QCoreApplication::processEvents();
  }

  ChartWidget& chart() { return *window_.chart(); }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus == nullptr ? &chart() : focus, key, modifiers);
    QCoreApplication::processEvents();
  }
  void type(const QString& text) { QTest::keyClicks(QApplication::focusWidget(), text); }
  Picker& picker() { return *window_.findChild<Picker*>(); }
  SearchBar& bar() { return *window_.findChild<SearchBar*>(); }
  std::string listed() {
    QString all;
    const auto* list = picker().findChild<QTreeWidget*>();
    for (int i = 0; i < list->topLevelItemCount(); ++i) {
      all += list->topLevelItem(i)->text(0) + "|" + list->topLevelItem(i)->text(1) + "\n";
    }
    return all.toStdString();
  }
  bool isShown(std::int32_t number) {
    const TimeAxis axis = chart().view().axis;
    for (const StepSpan& step : chart().model()->steps()) {
      if (step.step != number) continue;
      return axis.begin() <= step.begin && step.end <= axis.end() &&
             axis.span() < (step.end - step.begin) * 11 / 10;
    }
    return false;
  }

  const TestLogs logs_{{.ranks = 16, .steps = 6}};
  MainWindow window_;
};

TEST_F(WindowCommandsTest, ThePaletteRunsACommand) {
  press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(picker().isVisible());
  EXPECT_THAT(listed(),
              AllOf(HasSubstr("View: Zoom in|W  +  ="), HasSubstr("Go: Next step|N  PgDown"),
                    HasSubstr("Edit: Find|/  Ctrl+F"), Not(HasSubstr("Redo"))))
      << "there is nothing to redo";
  type("whole");
  EXPECT_THAT(listed(), testing::StartsWith("View: Whole run"));
  EXPECT_FALSE(chart().isFitted());
  press(Qt::Key_Return);
  EXPECT_TRUE(chart().isFitted());
  EXPECT_FALSE(picker().isVisible());
  EXPECT_TRUE(chart().hasFocus());
}

TEST_F(WindowCommandsTest, ArrowsChooseAndEscapeClosesTheList) {
  press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  const auto* list = picker().findChild<QTreeWidget*>();
  press(Qt::Key_Down);
  press(Qt::Key_Down);
  press(Qt::Key_Up);
  EXPECT_EQ(list->indexOfTopLevelItem(list->currentItem()), 1);
  type("xyzzy");
  EXPECT_THAT(listed(), HasSubstr("Nothing fits"));
  press(Qt::Key_Return);
  EXPECT_TRUE(picker().isVisible()) << "there is nothing to pick";
  press(Qt::Key_Escape);
  EXPECT_FALSE(picker().isVisible());
  EXPECT_TRUE(chart().hasFocus());
}

TEST_F(WindowCommandsTest, ARowIsFoundByItsRankStageOrLane) {
  window_.resize(1000, 400);
  QCoreApplication::processEvents();
  const auto isInView = [&](int rank, const std::string& lane) {
    const ChartView view = chart().view();
    for (std::size_t i = 0; i < view.layout.size(); ++i) {
      if (view.model.rows()[i].rank != rank || view.model.rows()[i].lane != lane) continue;
      return view.layout[i].top >= view.scrollY &&
             view.layout[i].bottom() <= view.scrollY + view.area.height;
    }
    return false;
  };
  ASSERT_FALSE(isInView(15, "send"));
  press(Qt::Key_P, Qt::ControlModifier);
  type("rank 15 send");
  press(Qt::Key_Return);
  EXPECT_TRUE(isInView(15, "send"));
  press(Qt::Key_P, Qt::ControlModifier);
  type("stage 1");
  EXPECT_THAT(listed(), HasSubstr("rank 1|stage 1, compute\n"));
}

TEST_F(WindowCommandsTest, ARankByItsNumberIsItsComputeRow) {
  press(Qt::Key_P, Qt::ControlModifier);
  type("rank 12");
  EXPECT_THAT(listed(), testing::StartsWith("rank 12|stage 12, compute\n"));
}

TEST_F(WindowCommandsTest, F6GoesFromPanelToPanelAndShiftF6Back) {
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.explanation() != nullptr; }, 20'000));
  window_.findChild<QDockWidget*>(QStringLiteral("what-if"))->show();
  QCoreApplication::processEvents();
  const auto panel = [] {
    for (const QWidget* at = QApplication::focusWidget(); at != nullptr; at = at->parentWidget()) {
      if (const auto* dock = qobject_cast<const QDockWidget*>(at)) {
        return dock->visibleRegion().isEmpty() ? std::string("hidden")
                                               : dock->windowTitle().toStdString();
      }
    }
    return std::string("chart");
  };
  chart().setFocus();
  std::vector<std::string> seen;
  for (int i = 0; i < 5; ++i) {
    press(Qt::Key_F6);
    seen.push_back(panel());
  }
  EXPECT_THAT(seen, testing::ElementsAre("Findings", "Ranks", "Trust", "What if", "chart"));
  press(Qt::Key_F6, Qt::ShiftModifier);
  EXPECT_EQ(panel(), "What if");
  press(Qt::Key_F6, Qt::ShiftModifier);
  EXPECT_EQ(panel(), "Trust");
  EXPECT_THAT(keysHelp(commandGroups(*window_.menuBar())).toStdString(),
              AllOf(HasSubstr("F6"), HasSubstr("Next panel"), HasSubstr("Previous panel")));
}

TEST_F(WindowCommandsTest, AStepIsMadeTheAreaByKeys) {
  const StepSpan& third = chart().model()->steps()[2];
  chart().showTime(third.begin, third.end);
  press(Qt::Key_R, Qt::ShiftModifier);
  ASSERT_TRUE(chart().area());
  EXPECT_EQ(chart().area()->time.begin, third.begin);
  EXPECT_EQ(chart().area()->time.end, third.end);
  press(Qt::Key_N);
  press(Qt::Key_R, Qt::ShiftModifier);
  EXPECT_EQ(chart().area()->time.begin, chart().model()->steps()[3].begin);
}

TEST_F(WindowCommandsTest, EscInAPanelSelectsNothingAndGoesToTheChart) {
  press(Qt::Key_B);
  ASSERT_TRUE(chart().selection());
  const Event* const longest = chart().selection()->event;
  auto* findings = window_.findChild<QDockWidget*>("findings")->findChild<QListWidget*>();
  findings->setFocus();
  QTest::keyClick(findings, Qt::Key_Escape);
  EXPECT_FALSE(chart().selection());
  EXPECT_TRUE(chart().hasFocus());
  press(Qt::Key_B);
  EXPECT_EQ(chart().selection()->event, longest) << "it begins with the longest again";
}

TEST_F(WindowCommandsTest, FoldersHaveAKey) {
  for (const QAction* action : window_.findChildren<QAction*>()) {
    if (action->text() != "Open &folder …") continue;
    EXPECT_EQ(action->shortcut(), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O));
    return;
  }
  FAIL() << "no such command";
}

TEST_F(WindowCommandsTest, TimesAndStepsAreTyped) {
  const auto go = [&](const QString& text) {
    press(Qt::Key_G, Qt::ControlModifier);
    type(text);
    press(Qt::Key_Return);
  };
  const auto middle = [&] {
    const TimeAxis axis = chart().view().axis;
    return axis.begin() + axis.span() / 2 - chart().model()->span().begin;
  };
  go("step 4");
  EXPECT_TRUE(isShown(4));
  go("400 ms");
  EXPECT_NEAR(static_cast<double>(middle()), 400e6, 2);
  go("+3 ms");
  EXPECT_NEAR(static_cast<double>(middle()), 403e6, 4);
  go("-10ms");
  EXPECT_NEAR(static_cast<double>(middle()), 393e6, 6);
  press(Qt::Key_G, Qt::ControlModifier);
  EXPECT_THAT(listed(), AllOf(HasSubstr("Slowest step ("), HasSubstr("Step of median length ("),
                              HasSubstr("Step 5|at ")));
  type("99");
  EXPECT_THAT(listed(), HasSubstr("There is no step 99"));
  press(Qt::Key_Escape);
}

TEST_F(WindowCommandsTest, EscapeInTheChartEndsTheSearchOnceNothingIsSelected) {
  press(Qt::Key_Slash);
  type("kind:forward");
  press(Qt::Key_Return);
  ASSERT_TRUE(QTest::qWaitFor([&] { return chart().selection().has_value(); }, 20'000));
  chart().setFocus();
  press(Qt::Key_Escape);
  EXPECT_FALSE(chart().selection());
  EXPECT_TRUE(bar().isVisible());
  press(Qt::Key_Escape);
  EXPECT_FALSE(bar().isVisible());
}

TEST_F(WindowCommandsTest, ASlashSearchesAndEscapeGivesTheKeysBack) {
  press(Qt::Key_Slash);
  ASSERT_TRUE(bar().isVisible());
  type("step:4 rank:3 kind:forward mb:2");
  press(Qt::Key_Return);
  ASSERT_TRUE(QTest::qWaitFor([&] { return chart().selection().has_value(); }, 20'000));
  const Event& found = *chart().selection()->event;
  EXPECT_EQ(found.step, 4);
  EXPECT_EQ(found.microBatch, 2);
  EXPECT_EQ(found.kind, JobKind::kForward);
  press(Qt::Key_Escape);
  EXPECT_FALSE(bar().isVisible());
  EXPECT_TRUE(chart().hasFocus());
  press(Qt::Key_F, Qt::ControlModifier);
  EXPECT_TRUE(bar().isVisible());
}

TEST_F(WindowCommandsTest, LettersAreTextInTheSearchBar) {
  press(Qt::Key_0);
  const Nanoseconds span = chart().view().axis.span();
  press(Qt::Key_Slash);
  type("wasd/?");
  EXPECT_EQ(bar().findChild<QLineEdit*>()->text(), "wasd/?");
  EXPECT_EQ(chart().view().axis.span(), span);
}

TEST_F(WindowCommandsTest, HelpListsEachCommandWithItsKeys) {
  press(Qt::Key_Question);
  const auto* dialog = window_.findChild<QDialog*>();
  ASSERT_NE(dialog, nullptr);
  const std::string text = dialog->findChild<QTextBrowser*>()->toPlainText().toStdString();
  for (const CommandGroup& group : commandGroups(*window_.menuBar())) {
    for (const QAction* action : group.commands) {
      for (const QString& key : keysOf(*action)) EXPECT_THAT(text, HasSubstr(key.toStdString()));
      if (keysOf(*action).isEmpty()) continue;
      EXPECT_THAT(text, HasSubstr(plainText(*action).toStdString()));
    }
  }
  EXPECT_THAT(text, AllOf(HasSubstr("Double click"), HasSubstr("PgDown"), HasSubstr("Backspace")));
}

TEST_F(WindowCommandsTest, NoTwoCommandsShareAKey) {
  std::map<QString, QString> commandOf;
  for (const CommandGroup& group : commandGroups(*window_.menuBar())) {
    for (const QAction* action : group.commands) {
      for (const QString& key : keysOf(*action)) {
        const auto [at, isNew] = commandOf.try_emplace(key, action->text());
        EXPECT_TRUE(isNew) << key.toStdString() << ": " << at->second.toStdString() << " and "
                           << action->text().toStdString();
      }
    }
  }
  EXPECT_GT(commandOf.size(), 20U);
}

TEST(FindTest, AQueryFromTheCommandLineIsShownOnceTheProfileIsThere) {
  const TestLogs logs({.steps = 12});
  MainWindow window;
  showActive(window);
  window.find("step:9 rank:3 kind:backward mb:2");
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return window.profile() != nullptr && window.chart()->selection().has_value(); },
      20'000));
  const ChartHit hit = *window.chart()->selection();
  EXPECT_EQ(hit.event->step, 9);
  EXPECT_EQ(hit.event->microBatch, 2);
  EXPECT_EQ(window.chart()->model()->rows()[hit.row].rank, 3);
  const TimeAxis axis = window.chart()->view().axis;
  EXPECT_LE(axis.begin(), hit.event->begin);
  EXPECT_LE(hit.event->end, axis.end());
}

TEST(FindTest, WithoutAMatchTheBarSaysSo) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.find("step:99");
  window.open({QString::fromStdString(logs.path())});
  const auto isSaid = [&] {
    for (const QLabel* label : window.findChild<SearchBar*>()->findChildren<QLabel*>()) {
      if (label->text() == "no match") return true;
    }
    return false;
  };
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.profile() != nullptr && isSaid(); }, 20'000));
  EXPECT_FALSE(window.chart()->selection());
}

}  // namespace
}  // namespace pipetrace
