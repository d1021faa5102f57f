#include "viewer/what_if/what_if_panel.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QClipboard>
#include <QSplitter>
#include <QTemporaryDir>
#include <QTest>
#include <QWheelEvent>

#include "analysis/testing/run_of_timeline.h"
#include "schedule/file/schedule_file.h"
#include "trace/error.h"
#include "trace/testing/file_text.h"
#include "viewer/testing/asked_run.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The panel of a run, beside its charts.
struct ShownPanel {
  explicit ShownPanel(std::shared_ptr<const LoadedProfile> asked = askedRun(),
                      const QString& remembered = {})
      : profile(std::move(asked)) {
    chart = new ChartWidget;
    chart->setModel(&profile->model());
    auto* charts = new ChartStack(*chart);
    panel = new WhatIfPanel(*charts);
    panel->predictedChart().setMinimumHeight(300);
    window.addWidget(panel);
    window.addWidget(charts);
    window.resize(1200, 900);
    showActive(window);
    chart->showMedianStep();
    panel->setUsed(true);
    panel->open({profile, {QStringLiteral("my logs")}, AlignBy::kBest}, remembered);
  }
  ~ShownPanel() { chart->setModel(nullptr); }

  bool isReady() {
    return QTest::qWaitFor([&] { return panel->work().facts() != nullptr; }, 20'000);
  }
  bool isAnswered(const std::string& changes) {
    return QTest::qWaitFor(
        [&] { return panel->answer() && panel->answer()->changes.text() == changes; }, 20'000);
  }
  template <typename Part>
  Part& part(const char* accessibleName) {
    for (Part* each : panel->findChildren<Part*>()) {
      if (each->accessibleName() == QString::fromUtf8(accessibleName)) return *each;
    }
    throw std::runtime_error(std::string("no part ") + accessibleName);
  }
  std::string allTexts() {
    std::string text;
    for (const QLabel* label : panel->findChildren<QLabel*>()) {
      if (label->isVisibleTo(panel)) text += label->text().toStdString() + "\n";
    }
    return text;
  }
  std::string words() { return panel->predictedChart().words().toStdString(); }

  std::shared_ptr<const LoadedProfile> profile;
  QSplitter window;
  ChartWidget* chart;
  WhatIfPanel* panel;
};

TEST(WhatIfPanelTest, WhileASliderIsHeldTheMedianStepFollowsAndThenTheWholeRun) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  EXPECT_THAT(shown.allTexts(), HasSubstr("Move a slider"));
  shown.part<QComboBox>("Stage").setCurrentIndex(1);
  QSlider& slider = shown.part<QSlider>("Stage: time in percent, slider");
  slider.setSliderDown(true);
  slider.setValue(-50);
  const std::string changes = "--scale stage=1:0.71";
  EXPECT_EQ(shown.panel->text().toStdString(), changes);
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown.panel->predictedChart().run() != nullptr; }));
  EXPECT_THAT(shown.words(), StartsWith("Preview of step "));
  EXPECT_THAT(shown.allTexts(), HasSubstr("this is a preview of the median step alone"));
  EXPECT_EQ(shown.panel->predictedChart().run()->model().steps().size(), 1U);
  QTest::qWait(700);
  EXPECT_EQ(shown.panel->answer(), nullptr) << "it is still held";
  slider.setSliderDown(false);
  ASSERT_TRUE(shown.isAnswered(changes));
  const WhatIfAnswer direct = whatIf(shown.profile->run(), WhatIfChanges::of(changes).question());
  EXPECT_EQ(shown.panel->answer()->answer.changed.step, direct.changed.step);
  EXPECT_THAT(shown.words(), StartsWith("Predicted: a step takes "));
  EXPECT_EQ(shown.panel->predictedChart().run()->model().steps().size(), 5U);
  EXPECT_THAT(shown.allTexts(), AllOf(HasSubstr("replay error 0 ns"), HasSubstr("model error")));
}

TEST(WhatIfPanelTest, EachFieldAsksForItsOption) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  const auto text = [&] { return shown.panel->text().toStdString(); };
  const auto choose = [&](const char* name, const char* entry) {
    auto& box = shown.part<QComboBox>(name);
    const int index = box.findText(QString::fromUtf8(entry));
    ASSERT_GE(index, 0) << entry;
    box.setCurrentIndex(index);
    emit box.activated(index);
  };
  const auto type = [&](const char* name, const char* value) {
    auto& field = shown.part<QLineEdit>(name);
    field.setText(QString::fromUtf8(value));
    emit field.editingFinished();
  };
  shown.part<QDoubleSpinBox>("Rank: time in percent").setValue(90);
  EXPECT_EQ(text(), "--scale rank=0:0.9");
  shown.part<QToolButton>("Rank: as measured").click();
  EXPECT_EQ(text(), "");
  shown.part<QComboBox>("Link").setCurrentIndex(2);
  shown.part<QDoubleSpinBox>("Link: time in percent").setValue(50);
  shown.part<QDoubleSpinBox>("Link time").setValue(0.1);
  EXPECT_EQ(text(), "--scale link=2-3:0.5 --link 2-3=0.1ms");
  shown.panel->resetAll();
  choose("Kind", "all messages");
  shown.part<QDoubleSpinBox>("Kind: time in percent").setValue(0);
  EXPECT_EQ(text(), "--scale kind=transfer:0");
  shown.panel->resetAll();
  choose("Launches", "none");
  shown.part<QCheckBox>("Balance").click();
  EXPECT_EQ(text(), "--balance stages --no-launch");
  choose("Launches", "of rank 2 as of the others");
  EXPECT_EQ(text(), "--balance stages --usual-launch 2");
  shown.panel->resetAll();
  choose("Schedule", "ZB-H1");
  choose("Split", "2:1");
  shown.part<QSpinBox>("Micro-batches").setValue(16);
  shown.part<QCheckBox>("Batch").click();
  EXPECT_EQ(text(), "--schedule ZB-H1 --split 2:1 --micro-batches 16 --keep-batch");
  shown.part<QToolButton>("Schedule: as it is in the run").click();
  shown.part<QToolButton>("Micro-batches: as it is in the run").click();
  EXPECT_EQ(text(), "");
  shown.part<QSpinBox>("Chunks").setValue(2);
  choose("Lines", "a line of messages for each rank");
  choose("Messages", "in the order of their times");
  EXPECT_EQ(text(), "--chunks 2 --comm-streams rank --transfers in-time");
  shown.panel->resetAll();
  type("Partition", "3, 3,3,3");
  type("Run's blocks", "2,4,3,3");
  EXPECT_EQ(text(), "--partition 3,3,3,3 --blocks equal --run-partition 2,4,3,3");
  ASSERT_TRUE(shown.isAnswered(text()));
  EXPECT_EQ(shown.panel->answer()->problem, "");
}

TEST(WhatIfPanelTest, ChangesAreUndoneAndMadeAgain) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  shown.panel->setChanges(WhatIfChanges::of("--scale stage=1:0.8"));
  shown.panel->setChanges(WhatIfChanges::of("--schedule ZB-H1"));
  shown.panel->setFocus();
  const auto key = [&](Qt::KeyboardModifiers modifiers) {
    QTest::keyClick(&shown.part<QDoubleSpinBox>("Stage: time in percent"), Qt::Key_Z, modifiers);
    return shown.panel->text().toStdString();
  };
  shown.part<QDoubleSpinBox>("Stage: time in percent").setFocus();
  EXPECT_EQ(key(Qt::ControlModifier), "--scale stage=1:0.8") << "from within a field";
  ASSERT_TRUE(shown.isAnswered("--scale stage=1:0.8"));
  EXPECT_EQ(key(Qt::ControlModifier), "");
  EXPECT_EQ(shown.panel->predictedChart().run(), nullptr) << "nothing is predicted";
  EXPECT_EQ(key(Qt::ControlModifier), "") << "there is nothing left";
  EXPECT_EQ(key(Qt::ControlModifier | Qt::ShiftModifier), "--scale stage=1:0.8");
  EXPECT_EQ(key(Qt::ControlModifier | Qt::ShiftModifier), "--schedule ZB-H1");
  shown.panel->setChanges(WhatIfChanges::of("--no-launch"));
  shown.panel->redo();
  EXPECT_EQ(shown.panel->text(), "--no-launch") << "another change ends what can be redone";
}

TEST(WhatIfPanelTest, DeleteTakesAChangeOfTheListBack) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  shown.panel->setChanges(WhatIfChanges::of("--scale stage=1:0.8 --no-launch --usual-launch 3"));
  auto& list = shown.part<QListWidget>("Changes");
  ASSERT_EQ(list.count(), 3);
  list.setCurrentRow(1);
  QTest::keyClick(&list, Qt::Key_Delete);
  EXPECT_EQ(shown.panel->text(), "--scale stage=1:0.8 --usual-launch 3");
}

TEST(WhatIfPanelTest, TheCommandAsksForTheSame) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  shown.panel->setChanges(WhatIfChanges::of("--schedule ZB-H1 --link 2-3=0.1ms"));
  EXPECT_EQ(shown.part<QComboBox>("Link").currentText().toStdString(), "2 – 3") << "what changed";
  shown.panel->copyCommand();
  EXPECT_EQ(QApplication::clipboard()->text(),
            "pipe-trace what-if 'my logs' --link 2-3=0.1ms --schedule ZB-H1");
}

TEST(WhatIfPanelTest, ThePredictedRunAndItsPlanAreSaved) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  const QTemporaryDir folder;
  EXPECT_THROW(shown.panel->save(folder.filePath("none.json")), Error);
  shown.panel->setChanges(WhatIfChanges::of("--schedule ZB-H1"));
  ASSERT_TRUE(shown.isAnswered("--schedule ZB-H1"));
  shown.panel->save(folder.filePath("plan.csv"));
  const std::string plan = test::fileText(folder.filePath("plan.csv").toStdString());
  EXPECT_EQ(plan, toCsv(shown.panel->answer()->answer.order));
  shown.panel->save(folder.filePath("run.json"));
  const auto read = loadProfile({folder.filePath("run.json").toStdString()});
  EXPECT_EQ(read->summary().steps.size(), 5U);
  shown.panel->setChanges(WhatIfChanges::of("--scale stage=1:0.8"));
  ASSERT_TRUE(shown.isAnswered("--scale stage=1:0.8"));
  EXPECT_THROW(shown.panel->save(folder.filePath("none.csv")), Error) << "the plan is the run's";
}

TEST(WhatIfPanelTest, AdviceIsShownAndAClickSetsItsChange) {
  ShownPanel shown;
  auto& cards = *shown.panel->findChild<AdviceCards*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !cards.cards().empty(); }, 20'000));
  ASSERT_TRUE(shown.isReady());
  QCommandLinkButton* const card = cards.cards().front();
  EXPECT_THAT(card->text().toStdString(), StartsWith("−"));
  EXPECT_TRUE(card->isEnabled());
  card->click();
  EXPECT_FALSE(shown.panel->changes().empty());
  const std::string changes = shown.panel->text().toStdString();
  ASSERT_TRUE(shown.isAnswered(changes));
  EXPECT_EQ(shown.panel->answer()->problem, "");
  const double change = shown.panel->answer()->answer.change();
  EXPECT_TRUE(card->text().startsWith(changeText(change))) << "what the card promised";
}

TEST(WhatIfPanelTest, WhatIsRememberedIsPredictedAgain) {
  ShownPanel shown(askedRun(), QStringLiteral("--scale stage=1:0.8 --schedule ZB-H1"));
  ASSERT_TRUE(shown.isAnswered("--scale stage=1:0.8 --schedule ZB-H1"));
  shown.panel->undo();
  EXPECT_EQ(shown.panel->text(), "--scale stage=1:0.8 --schedule ZB-H1") << "that was no change";
  ShownPanel other(askedRun(), QStringLiteral("--of-a-later-version 3"));
  ASSERT_TRUE(other.isReady());
  EXPECT_EQ(other.panel->text(), "");
}

TEST(WhatIfPanelTest, OfAnAsynchronousRunOtherPlansAreGreyAndSayWhy) {
  ShownPanel shown(askedRun("PipeDream"));
  ASSERT_TRUE(shown.isReady());
  EXPECT_FALSE(shown.part<QComboBox>("Schedule").isEnabled());
  EXPECT_THAT(shown.allTexts(),
              AllOf(HasSubstr("no answer about another plan: the run is asynchronous"),
                    HasSubstr("no step stands for it")));
  shown.part<QDoubleSpinBox>("Stage: time in percent").setValue(50);
  ASSERT_TRUE(shown.isAnswered("--scale stage=0:0.5"));
  EXPECT_THAT(shown.words(), StartsWith("Predicted: the run takes "));
}

TEST(WhatIfPanelTest, WithoutMessagesLinksAreGreyAndSayWhy) {
  const auto whole = askedRun();
  Timeline timeline = whole->timeline();
  std::erase_if(timeline.tracks, [](const Track& track) { return track.lane != kComputeLane; });
  auto silent =
      std::make_shared<LoadedProfile>("silent", asRun(std::move(timeline)), Diagnostics());
  silent->add(findBubbles(*silent));
  ShownPanel shown(silent);
  ASSERT_TRUE(shown.isReady());
  EXPECT_FALSE(shown.part<QSlider>("Link: time in percent, slider").isEnabled());
  EXPECT_FALSE(shown.part<QDoubleSpinBox>("Link time").isEnabled());
  EXPECT_THAT(shown.allTexts(), HasSubstr("Links: the logs have no messages"));
  EXPECT_TRUE(shown.part<QSlider>("Stage: time in percent, slider").isEnabled());
}

TEST(WhatIfPanelTest, AChangeThatCannotBeSaysWhy) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  shown.panel->setChanges(WhatIfChanges::of("--transfers in-time"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !shown.panel->work().isAnswering(); }, 20'000));
  EXPECT_THAT(shown.allTexts(), HasSubstr("No prediction: “Messages” in-time: the messages of the "
                                          "run wait for no others, so their order changes nothing; "
                                          "“Lines” puts them on lines"))
      << "in the words of the panel";
  EXPECT_EQ(shown.panel->predictedChart().run(), nullptr);
}

TEST(WhatIfPanelTest, TheWheelScrollsThePanelAndChangesNoField) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  const auto turn = [](QWidget& field) {
    const QPointF middle = field.rect().center();
    QWheelEvent event(middle, field.mapToGlobal(middle), {}, {0, -120}, Qt::NoButton,
                      Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&field, &event);
    EXPECT_FALSE(event.isAccepted()) << "it is left to the panel, which scrolls";
  };
  QComboBox& order = shown.part<QComboBox>("Messages");
  order.setFocus();
  turn(order);
  EXPECT_EQ(order.currentIndex(), 0);
  turn(shown.part<QSpinBox>("Chunks"));
  turn(shown.part<QSlider>("Stage: time in percent, slider"));
  turn(shown.part<QDoubleSpinBox>("Link time"));
  EXPECT_TRUE(shown.panel->text().isEmpty()) << shown.panel->text().toStdString();
}

TEST(WhatIfPanelTest, ThePredictedStepStandsUnderTheMeasuredOneAtTheSameScale) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  shown.panel->setChanges(WhatIfChanges::of("--scale stage=1:0.6"));
  ASSERT_TRUE(shown.isAnswered("--scale stage=1:0.6"));
  ChartWidget& predicted = shown.panel->predictedChart().chart();
  const auto isBeside = [&](int step) {
    const ChartView above = shown.chart->view();
    const ChartView below = predicted.view();
    const auto at = static_cast<std::size_t>(step);
    EXPECT_EQ(above.area.x, below.area.x);
    EXPECT_NEAR(above.xOf(above.model.steps()[at].begin), below.xOf(below.model.steps()[at].begin),
                1);
    EXPECT_NEAR(static_cast<double>(above.axis.span()) / above.area.width,
                static_cast<double>(below.axis.span()) / below.area.width,
                0.001 * static_cast<double>(above.axis.span()) / above.area.width);
  };
  for (const int step : {1, 4}) {
    shown.chart->showStep(step);
    isBeside(step);
  }
  predicted.zoomBy(2);
  isBeside(4);
  const Nanoseconds begin = shown.chart->view().axis.begin();
  predicted.panBy(0.1);
  EXPECT_GT(shown.chart->view().axis.begin(), begin) << "the charts move together";
  isBeside(4);
}

TEST(WhatIfPanelTest, JobsThatMovedAreTinted) {
  ShownPanel shown;
  ASSERT_TRUE(shown.isReady());
  const auto colorOf = [&](const char* changes) {
    shown.panel->setChanges(WhatIfChanges::of(changes));
    EXPECT_TRUE(shown.isAnswered(changes));
    shown.chart->showStep(2);
    shown.chart->zoomBy(-4);  // so that the predicted step is in view, however long it is
    ChartWidget& chart = shown.panel->predictedChart().chart();
    const ChartView view = chart.view();
    const ChartRow& row = view.model.rows()[0];
    const LaneIndex& jobs = row.lanes[0];
    const auto step = view.model.steps()[2];
    std::size_t last = jobs.firstBeginningAt(step.end);
    while (!isCompute(jobs[--last].kind)) continue;
    const QImage image = chart.viewport()->grab().toImage();
    EXPECT_GT(image.height(), view.yOf(view.layout[0].bottom())) << "the row is in view";
    return image.pixelColor(view.xOf(jobs[last].begin + jobs[last].duration() / 2),
                            view.yOf(view.layout[0].bottom()) - 2);
  };
  const QColor later = colorOf("--scale stage=1:1.5");
  EXPECT_GT(later.red(), later.blue() + 60) << later.name().toStdString();
  const QColor sooner = colorOf("--scale stage=1:0.5");
  EXPECT_GT(sooner.blue(), sooner.red() + 60) << sooner.name().toStdString();
}

TEST(WhatIfPanelTest, ARunThatIsClosedWhileItIsPredictedLeavesNothingBehind) {
  ShownPanel shown(askedRun("1F1B", 40, 64));
  ASSERT_TRUE(shown.isReady());
  shown.panel->setChanges(WhatIfChanges::of("--scale stage=1:0.6"));
  shown.panel->close();
  EXPECT_FALSE(shown.panel->isOpen());
  EXPECT_EQ(shown.panel->command(), "");
  QTest::qWait(200);
  EXPECT_EQ(shown.panel->predictedChart().run(), nullptr);
  EXPECT_EQ(shown.panel->answer(), nullptr);
}

}  // namespace
}  // namespace pipetrace
