#include "viewer/window/theme_choice.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QLineEdit>
#include <QMenu>
#include <QSettings>
#include <QTest>
#include <QToolTip>

#include "viewer/paint/qt_canvas.h"
#include "viewer/testing/profile.h"
#include "viewer/testing/shown_window.h"
#include "viewer/window/main_window.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {
namespace {

/// Leaves no choice to other tests.
class ThemeChoiceTest : public testing::Test {
 protected:
  ThemeChoiceTest() { forget(); }
  ~ThemeChoiceTest() override {
    forget();
    QApplication::setPalette(QPalette());
  }

  static void forget() {
    QSettings settings("PipeTrace", "pipe-view");
    settings.remove("theme");
    settings.remove("brightness");
  }

  static QAction* actionOf(QMenu& menu, const char* name) {
    return menu.findChild<QAction*>(QString::fromUtf8(name));
  }

  static bool isDark(const QPalette& palette) {
    return palette.color(QPalette::Window).lightness() <
           palette.color(QPalette::WindowText).lightness();
  }
};

TEST_F(ThemeChoiceTest, AtFirstItIsPaperLikeTheDesktop) {
  const ThemeChoice choice;
  EXPECT_EQ(choice.theme().name, ThemeName::kPaper);
  EXPECT_EQ(choice.brightness(), Brightness::kDesktop);
  EXPECT_FALSE(choice.theme().isDark) << "the offscreen platform is light";
}

TEST_F(ThemeChoiceTest, FieldsStandOutFromThePaper) {
  const auto difference = [](ThemeChoice& choice, Brightness brightness) {
    choice.choose(brightness);
    QLineEdit field;
    field.ensurePolished();
    return std::abs(field.palette().color(QPalette::Base).lightness() -
                    toQColor(choice.theme().paper).lightness());
  };
  ThemeChoice choice;
  EXPECT_GE(difference(choice, Brightness::kDark), 20);
  EXPECT_EQ(difference(choice, Brightness::kLight), 0) << "a frame is enough";
}

TEST_F(ThemeChoiceTest, ItFollowsTheDesktopUnlessLightOrDarkIsChosen) {
  bool isDesktopDark = true;
  ThemeChoice choice(nullptr, [&] { return isDesktopDark; });
  EXPECT_TRUE(choice.theme().isDark);
  EXPECT_TRUE(isDark(QApplication::palette()));
  int changes = 0;
  QObject::connect(&choice, &ThemeChoice::changed, [&] { ++changes; });
  const auto changeDesktop = [&](bool dark) {
    isDesktopDark = dark;
    QEvent news(QEvent::ThemeChange);
    QCoreApplication::sendEvent(qApp, &news);
  };
  changeDesktop(false);
  EXPECT_FALSE(choice.theme().isDark);
  EXPECT_FALSE(isDark(QApplication::palette()));
  changeDesktop(false);
  EXPECT_EQ(changes, 1) << "the second change changes nothing";
  choice.choose(Brightness::kLight);
  changeDesktop(true);
  EXPECT_FALSE(choice.theme().isDark);
  choice.choose(Brightness::kDesktop);
  EXPECT_TRUE(choice.theme().isDark);
}

TEST_F(ThemeChoiceTest, AChoiceIsRememberedAndTheMenuShowsIt) {
  {
    ThemeChoice choice;
    QMenu menu;
    choice.addTo(menu);
    int changes = 0;
    QObject::connect(&choice, &ThemeChoice::changed, [&] { ++changes; });
    EXPECT_TRUE(actionOf(menu, "theme-paper")->isChecked());
    actionOf(menu, "theme-paddle")->trigger();
    actionOf(menu, "brightness-dark")->trigger();
    EXPECT_EQ(changes, 2);
    EXPECT_FALSE(actionOf(menu, "theme-paper")->isChecked());
  }
  ThemeChoice next;
  EXPECT_EQ(next.theme().name, ThemeName::kPaddle);
  EXPECT_TRUE(next.theme().isDark);
  QMenu menu;
  next.addTo(menu);
  EXPECT_TRUE(actionOf(menu, "theme-paddle")->isChecked());
  EXPECT_TRUE(actionOf(menu, "brightness-dark")->isChecked());
  EXPECT_FALSE(actionOf(menu, "brightness-desktop")->isChecked());
}

TEST_F(ThemeChoiceTest, SettingsThatMakeNoSenseAreTheDefault) {
  QSettings("PipeTrace", "pipe-view").setValue("theme", "pink");
  QSettings("PipeTrace", "pipe-view").setValue("brightness", 7);
  const ThemeChoice choice;
  EXPECT_EQ(choice.theme().name, ThemeName::kPaper);
  EXPECT_EQ(choice.brightness(), Brightness::kDesktop);
}

TEST_F(ThemeChoiceTest, DarkIsForTheWholeProgram) {
  ThemeChoice choice;
  choice.choose(Brightness::kDark);
  EXPECT_TRUE(isDark(QApplication::palette()));
  EXPECT_TRUE(isDark(QToolTip::palette()));
  choice.choose(Brightness::kLight);
  EXPECT_FALSE(isDark(QApplication::palette()));
  for (const Brightness brightness : {Brightness::kDark, Brightness::kLight}) {
    choice.choose(brightness);
    const QPalette palette = QApplication::palette();
    const auto contrastOf = [&](QPalette::ColorRole text, QPalette::ColorRole ground) {
      const auto color = [&](QPalette::ColorRole role) {
        const QRgb c = palette.color(role).rgb();
        return Color{static_cast<std::uint8_t>(qRed(c)), static_cast<std::uint8_t>(qGreen(c)),
                     static_cast<std::uint8_t>(qBlue(c))};
      };
      return contrast(color(text), color(ground));
    };
    EXPECT_GE(contrastOf(QPalette::WindowText, QPalette::Window), 7);
    EXPECT_GE(contrastOf(QPalette::ButtonText, QPalette::Button), 7);
    EXPECT_GE(contrastOf(QPalette::Text, QPalette::Base), 7);
    EXPECT_GE(contrastOf(QPalette::HighlightedText, QPalette::Highlight), 4.5);
    EXPECT_GE(contrastOf(QPalette::Link, QPalette::Window), 4.5);
    EXPECT_GE(contrastOf(QPalette::ToolTipText, QPalette::ToolTipBase), 7);
    EXPECT_GE(contrastOf(QPalette::PlaceholderText, QPalette::ToolTipBase), 4.5);
    const QString faint = palette.color(QPalette::PlaceholderText).name();
    EXPECT_TRUE(tipLine("Rank", "3").contains("color:" + faint)) << "not that of paper";
  }
}

TEST_F(ThemeChoiceTest, AnotherThemeKeepsViewSelectionAndRows) {
  const TestLogs logs;
  MainWindow window;
  window.resize(1200, 700);
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.profile() != nullptr; }, 20'000));
  ChartWidget& chart = *window.chart();
  chart.zoomBy(1);
  const ChartView before = chart.view();
  const LaneIndex& lane = before.model.rows()[0].lanes[0];
  const Event& job = lane[lane.firstEndingAfter(before.axis.begin() + before.axis.span() / 2)];
  const QPoint place(before.xOf(job.end) - 4,
                     before.yOf(before.layout[0].top + before.layout[0].height / 2));
  QTest::mouseClick(chart.viewport(), Qt::LeftButton, {}, place);
  ASSERT_TRUE(chart.selection());
  const Event* const selected = chart.selection()->event;
  EXPECT_EQ(selected, &job);
  const Nanoseconds begin = chart.view().axis.begin();
  const Nanoseconds span = chart.view().axis.span();

  auto* view = window.findChild<QAction*>("theme-paddle");
  ASSERT_NE(view, nullptr) << "it is in the window's menu";
  view->trigger();
  window.findChild<QAction*>("brightness-dark")->trigger();
  EXPECT_EQ(chart.selection()->event, selected);
  EXPECT_EQ(chart.view().axis.begin(), begin);
  EXPECT_EQ(chart.view().axis.span(), span);
  EXPECT_TRUE(chart.model()->theme() == themeOf(ThemeName::kPaddle, true));

  const QImage image = chart.viewport()->grab().toImage();
  EXPECT_EQ(image.pixelColor(2, image.height() - 2), toQColor(chart.model()->theme().paper));
  int forward = 0;
  for (int x = 0; x < image.width(); ++x) {
    for (int y = 0; y < image.height(); ++y) {
      forward += image.pixelColor(x, y) == QColor(126, 200, 148) ? 1 : 0;
    }
  }
  EXPECT_GT(forward, 2000) << "Catapult's green of PaddlePaddle's forwards";
}

}  // namespace
}  // namespace pipetrace
