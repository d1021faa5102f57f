#include "viewer/export/export_dialog.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QImage>
#include <QMessageBox>
#include <QTemporaryDir>
#include <QTest>

#include "analysis/causes/explanation.h"
#include "chart/testing/paper_colors.h"
#include "chart/testing/rows_text.h"
#include "viewer/export/export_picture.h"
#include "viewer/testing/profile.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ExportDialogTest : public testing::Test {
 protected:
  ExportDialogTest() : profile_(loadProfile({logs_.path()})) {}

  Timeline::Span seen() const {
    const Timeline::Span span = profile_->model().span();
    return {span.begin, span.begin + (span.end - span.begin) / 4};
  }
  QByteArray contents(const QString& name) const {
    QFile file(folder_.filePath(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  QString only() const {
    const QStringList files = QDir(folder_.path()).entryList(QDir::Files);
    return files.size() == 1 ? files.front() : files.join(", ");
  }

  TestLogs logs_{TestRun{.steps = 30}};
  QTemporaryDir folder_;
  std::shared_ptr<const LoadedProfile> profile_;
};

template <typename Field>
Field* field(const ExportDialog& dialog, const char* name) {
  return dialog.findChild<Field*>(QString::fromLatin1(name));
}

/// The pixels of a colour in a picture.
int countOf(const QImage& image, Color color) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      count += image.pixelColor(x, y) == QColor(color.red, color.green, color.blue) ? 1 : 0;
    }
  }
  return count;
}

TEST_F(ExportDialogTest, EnterWritesTheTimeInViewAsAPng) {
  ExportDialog dialog(profile_, seen(), folder_.path());
  dialog.show();
  EXPECT_FALSE(field<QLabel>(dialog, "preview")->pixmap(Qt::ReturnByValue).isNull());
  QTest::keyClick(&dialog, Qt::Key_Return);
  EXPECT_EQ(dialog.result(), QDialog::Accepted);
  ASSERT_TRUE(only().endsWith(".png")) << only().toStdString();
  EXPECT_EQ(QImage(folder_.filePath(only())).width(), 1600);
}

TEST_F(ExportDialogTest, AStepIsChosenWithKeysAndWrittenAsSvg) {
  ExportDialog dialog(profile_, seen(), folder_.path());
  dialog.show();
  QTest::keyClick(field<QComboBox>(dialog, "what"), Qt::Key_Down);
  auto* step = field<QSpinBox>(dialog, "first step");
  ASSERT_TRUE(step->isVisible());
  EXPECT_FALSE(field<QSpinBox>(dialog, "last step")->isVisible());
  step->selectAll();
  QTest::keyClicks(step, "12");
  QTest::keyClick(field<QComboBox>(dialog, "format"), Qt::Key_End);
  QTest::keyClick(&dialog, Qt::Key_Return);
  ASSERT_TRUE(only().endsWith(".svg"));
  EXPECT_THAT(contents(only()).toStdString(), HasSubstr("step 12 of 0 to 29"));
}

TEST_F(ExportDialogTest, TheSelectedStepIsTheOneThatIsProposed) {
  ExportDialog dialog(profile_, seen(), folder_.path());
  dialog.setSelected(std::nullopt, 17);
  dialog.show();
  QTest::keyClick(field<QComboBox>(dialog, "what"), Qt::Key_Down);
  EXPECT_EQ(field<QSpinBox>(dialog, "first step")->value(), 17);
  ASSERT_TRUE(dialog.options().steps);
  EXPECT_EQ(dialog.options().steps->first, 17);
}

TEST_F(ExportDialogTest, TheSelectedAreaIsProposedWithItsRanksAlone) {
  ExportDialog dialog(profile_, seen(), folder_.path());
  const std::vector<ChartRow>& rows = profile_->model().rows();
  ChartArea area{{seen().begin, seen().begin + 1000}, {}};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].rank == 2 && rows[row].lane != "send") area.rows.push_back(row);
  }
  dialog.setSelected(area, std::nullopt);
  EXPECT_EQ(field<QComboBox>(dialog, "what")->currentText().toStdString(), "The selected area");
  const ExportOptions options = dialog.options();
  ASSERT_TRUE(options.time);
  EXPECT_EQ(options.time->end, area.time.end);
  EXPECT_EQ(rowsText(profile_->model(), options.rows), "- rank 2\n  . recv\n");
}

TEST_F(ExportDialogTest, MarksAreDrawnIfTheyAreWanted) {
  ExportDialog dialog(profile_, seen(), folder_.path());
  auto* marks = field<QCheckBox>(dialog, "marks");
  EXPECT_FALSE(marks->isEnabled()) << "there are none";
  dialog.setMarks({{.begin = seen().begin, .end = seen().begin, .text = "a pause of the disk"}});
  field<QComboBox>(dialog, "format")->setCurrentIndex(2);
  marks->setChecked(true);
  dialog.accept();
  EXPECT_THAT(contents(only()).toStdString(), HasSubstr("a pause of the disk"));
  EXPECT_TRUE(ExportDialog(profile_, seen(), folder_.path()).options().marks.empty());
}

TEST_F(ExportDialogTest, ChoicesAreThereAgainTheNextTime) {
  ExportDialog dialog(profile_, seen(), folder_.path());
  field<QComboBox>(dialog, "what")->setCurrentIndex(3);
  field<QSpinBox>(dialog, "width")->setValue(900);
  field<QSpinBox>(dialog, "height")->setValue(500);
  field<QComboBox>(dialog, "format")->setCurrentIndex(2);
  field<QCheckBox>(dialog, "classes")->setChecked(false);
  ExportDialog next(profile_, seen(), folder_.path());
  next.restore(dialog.choices());
  EXPECT_TRUE(next.options().isAll);
  EXPECT_EQ(next.options().width, 900);
  EXPECT_EQ(next.options().height, 500);
  EXPECT_FALSE(next.options().showsClasses);
  EXPECT_THAT(next.options().path, testing::EndsWith(".svg"));
  next.restore({"7", "what is this"});
  EXPECT_EQ(next.options().width, 900) << "what cannot be understood changes nothing";
}

TEST_F(ExportDialogTest, TheWholeRunOfManyStepsIsAColumnForEachStep) {
  ExportDialog dialog(profile_, seen(), folder_.path());
  dialog.show();
  QTest::keyClick(field<QComboBox>(dialog, "what"), Qt::Key_End);
  QTest::keyClick(field<QComboBox>(dialog, "format"), Qt::Key_End);
  auto* width = field<QSpinBox>(dialog, "width");
  width->selectAll();
  QTest::keyClicks(width, "900");
  QTest::keyClick(&dialog, Qt::Key_Return);
  EXPECT_THAT(contents(only()).toStdString(),
              AllOf(HasSubstr("steps 0 to 29"), HasSubstr("a column is a step"),
                    HasSubstr("step time"), HasSubstr("all ranks")));
}

TEST_F(ExportDialogTest, ThemeAndDarkAreThoseOfThePictureAndNotOfTheChart) {
  profile_->setTheme(themeOf(ThemeName::kPaddle));
  ExportDialog dialog(profile_, seen(), folder_.path());
  dialog.show();
  EXPECT_EQ(dialog.options().theme, ThemeName::kPaddle) << "at first it is the chart's";
  EXPECT_FALSE(dialog.options().isDark);
  QTest::keyClick(field<QComboBox>(dialog, "theme"), Qt::Key_End);
  QTest::keyClick(field<QCheckBox>(dialog, "dark"), Qt::Key_Space);
  QTest::keyClick(field<QComboBox>(dialog, "format"), Qt::Key_End);
  QTest::qWait(200);  // the preview, too, leaves the chart its colours
  QTest::keyClick(&dialog, Qt::Key_Return);
  const Theme& wanted = themeOf(ThemeName::kColourBlind, true);
  EXPECT_THAT(contents(only()).toStdString(), HasSubstr(toHex(wanted.paper)));
  EXPECT_EQ(profile_->model().theme(), themeOf(ThemeName::kPaddle));
}

TEST_F(ExportDialogTest, CriticalPathsCanBeShownOnceTheRunIsExplained) {
  ExportDialog dialog(profile_, seen(), folder_.path());
  dialog.show();
  auto* const path = field<QCheckBox>(dialog, "critical path");
  EXPECT_FALSE(path->isEnabled());
  dialog.setExplanation(std::make_shared<const Explanation>(profile_->run(), ExplainOptions{}));
  ASSERT_TRUE(path->isEnabled());
  QTest::keyClick(path, Qt::Key_Space);
  QTest::keyClick(field<QComboBox>(dialog, "format"), Qt::Key_End);
  QTest::keyClick(&dialog, Qt::Key_Return);
  EXPECT_THAT(contents(only()).toStdString(), HasSubstr("the critical path has outlines"));
}

TEST_F(ExportDialogTest, APictureThatIsTooLowIsRefusedBeforeItIsWritten) {
  ExportDialog dialog(profile_, seen(), folder_.path());
  dialog.show();
  auto* height = field<QSpinBox>(dialog, "height");
  height->selectAll();
  QTest::keyClicks(height, "20");
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return !field<QLabel>(dialog, "problem")->text().isEmpty(); }, 20'000));
  EXPECT_THAT(field<QLabel>(dialog, "problem")->text().toStdString(), HasSubstr("height of 20"));
  QTest::keyClick(&dialog, Qt::Key_Return);
  EXPECT_EQ(only(), "");
  height->selectAll();
  QTest::keyClicks(height, "600");
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return field<QLabel>(dialog, "problem")->text().isEmpty(); }, 20'000));
  QTest::keyClick(&dialog, Qt::Key_Return);
  EXPECT_EQ(QImage(folder_.filePath(only())).height(), 600);
}

TEST_F(ExportDialogTest, AFolderThatIsMissingKeepsTheDialogOpenAndSaysWhy) {
  ExportDialog dialog(profile_, seen(), folder_.filePath("no such folder"));
  dialog.show();
  QTest::keyClick(&dialog, Qt::Key_Return);
  EXPECT_TRUE(dialog.isVisible());
  EXPECT_THAT(field<QLabel>(dialog, "problem")->text().toStdString(), HasSubstr("no such folder"));
  auto* file = field<QLineEdit>(dialog, "file");
  file->selectAll();
  QTest::keyClicks(file, folder_.filePath("with a blank.pdf"));
  QTest::keyClick(&dialog, Qt::Key_Return);
  EXPECT_EQ(only(), "with a blank.pdf");
}

TEST_F(ExportDialogTest, AFileThatIsThereIsReplacedOnlyIfTheUserSaysSo) {
  QFile old(folder_.filePath("old.svg"));
  ASSERT_TRUE(old.open(QIODevice::WriteOnly));
  old.write("old");
  old.close();
  ExportDialog dialog(profile_, seen(), folder_.path());
  dialog.show();
  field<QLineEdit>(dialog, "file")->setText(old.fileName());
  const auto answer = [&](QMessageBox::StandardButton button) {
    QTimer::singleShot(50, &dialog, [button] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      ASSERT_NE(box, nullptr);
      QTest::mouseClick(box->button(button), Qt::LeftButton);
    });
    QTest::keyClick(&dialog, Qt::Key_Return);
  };
  answer(QMessageBox::No);
  EXPECT_EQ(contents("old.svg"), "old");
  answer(QMessageBox::Yes);
  EXPECT_TRUE(contents("old.svg").contains("</svg>"));
}

TEST_F(ExportDialogTest, APdfHasOnePageOfTheSizeWithTextsAndAreasAndNoPixels) {
  const std::string path = folder_.filePath("a.pdf").toStdString();
  for (const bool isAll : {false, true}) {
    exportPicture(*profile_, {.path = path, .width = 1000, .height = 600, .isAll = isAll});
    const QByteArray pdf = contents("a.pdf");
    EXPECT_TRUE(pdf.startsWith("%PDF-1."));
    EXPECT_TRUE(pdf.contains("/MediaBox [0 0 750.000000 450.000000]"));  // 72 points, 96 pixels
    EXPECT_EQ(pdf.count("/Type /Page\n"), 1);
    EXPECT_TRUE(pdf.contains("/FontFile2")) << "the font is in the file";
    EXPECT_TRUE(pdf.contains("/ToUnicode")) << "texts can be selected";
    EXPECT_FALSE(pdf.contains("/Subtype /Image"));
    EXPECT_LT(pdf.size(), 200'000);
  }
}

TEST_F(ExportDialogTest, APngOfTwiceTheScaleHasTwiceThePixelsOfTheSamePicture) {
  const std::string path = folder_.filePath("a.png").toStdString();
  exportPicture(*profile_, {.path = path, .width = 800, .height = 500});
  const QImage one(folder_.filePath("a.png"));
  exportPicture(*profile_, {.path = path, .width = 800, .height = 500, .scale = 2});
  const QImage two(folder_.filePath("a.png"));
  EXPECT_EQ(two.size(), 2 * one.size());
  EXPECT_NEAR(two.dotsPerMeterX(), 2 * 96 / 0.0254, 1) << "so that programs show it as large";
  const Color forward = kPaperColors.of({.kind = JobKind::kForward});
  ASSERT_GT(countOf(one, forward), 1000);
  EXPECT_NEAR(1.0 * countOf(two, forward) / countOf(one, forward), 4.0, 0.2);
}

TEST_F(ExportDialogTest, WithoutClassesNeitherTintsNorTextsNorTheLegendNameThem) {
  const std::string path = folder_.filePath("a.svg").toStdString();
  const StepChoice step{2, 2};
  const std::string tint = toHex(kPaperTheme.hatchingOf(BubbleClass::kDrain).ground);
  exportPicture(*profile_, {.path = path, .steps = step});
  EXPECT_THAT(contents("a.svg").toStdString(), AllOf(HasSubstr(">drain<"), HasSubstr(tint)));
  exportPicture(*profile_, {.path = path, .steps = step, .showsClasses = false});
  EXPECT_THAT(contents("a.svg").toStdString(),
              AllOf(Not(HasSubstr("drain")), Not(HasSubstr(tint)), HasSubstr(">bubble<")));
}

}  // namespace
}  // namespace pipetrace
