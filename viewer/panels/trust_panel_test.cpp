#include "viewer/panels/trust_panel.h"

#include <gmock/gmock.h>

#include <QClipboard>
#include <QGuiApplication>
#include <QTest>

#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> linesOf(const TrustPanel& panel) {
  std::vector<std::string> lines;
  const auto* list = panel.findChild<QListWidget*>();
  for (int row = 0; row < list->count(); ++row) {
    lines.push_back(list->item(row)->text().toStdString());
  }
  return lines;
}

Diagnostics oddInput() {
  Diagnostics diagnostics;
  diagnostics.add(
      {.severity = Severity::kNote, .file = {}, .message = "times are of rank 0's clock"});
  diagnostics.add({.severity = Severity::kWarning,
                   .file = "logs/workerlog.3",
                   .line = 17,
                   .message = "a line is no job",
                   .advice = "see whether the log is whole"});
  return diagnostics;
}

std::vector<Doubt> doubt() { return {{.kind = DoubtKind::kSilentRanks, .ranks = {1}}}; }

TEST(TrustPanelTest, DoubtsComeBeforeWarningsAndThoseBeforeNotes) {
  TrustPanel panel;
  panel.show(doubt(), oddInput());
  EXPECT_THAT(linesOf(panel), ElementsAre(StartsWith("Doubt: "), StartsWith("Warning: "),
                                          StartsWith("Note: times are of rank 0's clock")));
  EXPECT_EQ(panel.summary().toStdString(), "1 doubt, 1 warning, 1 note");
  EXPECT_TRUE(panel.isGrave());
  const auto* list = panel.findChild<QListWidget*>();
  EXPECT_NE(list->item(0)->icon().cacheKey(), 0);
  EXPECT_FALSE(list->item(2)->icon().isNull());
}

TEST(TrustPanelTest, EachSaysWhatToDoNext) {
  TrustPanel panel;
  panel.show(doubt(), oddInput());
  const auto lines = linesOf(panel);
  EXPECT_THAT(lines.at(0), HasSubstr("\nNext: "));
  EXPECT_THAT(lines.at(1), HasSubstr("a line is no job [logs/workerlog.3:17]\n"
                                     "Next: see whether the log is whole"));
}

TEST(TrustPanelTest, OptionsThatTheWindowLacksAreSaidToBeThoseOfPipeTrace) {
  Diagnostics diagnostics;
  diagnostics.add({.message = "a rank is missing", .advice = "name them with --ranks"});
  TrustPanel panel;
  panel.show({}, diagnostics);
  EXPECT_THAT(linesOf(panel).at(0), HasSubstr("--ranks (options of pipe-trace"));
}

TEST(TrustPanelTest, ADiagnosticThatRaisedADoubtStandsOnce) {
  Diagnostics diagnostics;
  diagnostics.add({.message = "ranks are silent", .doubt = DoubtKind::kSilentRanks});
  TrustPanel panel;
  panel.show(doubt(), diagnostics);
  EXPECT_EQ(linesOf(panel).size(), 1U);
  EXPECT_EQ(panel.summary().toStdString(), "1 doubt");
}

TEST(TrustPanelTest, NotesAloneAreNotGraveAndNothingIsSaidToBeNothing) {
  TrustPanel panel;
  Diagnostics diagnostics;
  diagnostics.add({.severity = Severity::kNote, .file = {}, .message = "a note"});
  panel.show({}, diagnostics);
  EXPECT_FALSE(panel.isGrave());
  EXPECT_EQ(panel.summary().toStdString(), "1 note");
  panel.show({}, {});
  EXPECT_EQ(panel.summary().toStdString(), "");
  EXPECT_THAT(linesOf(panel), ElementsAre(HasSubstr("no doubts")));
}

TEST(TrustPanelTest, CtrlCCopiesTheLines) {
  TrustPanel panel;
  panel.show({}, oddInput());
  showActive(panel);
  auto* list = panel.findChild<QListWidget*>();
  list->setFocus();
  list->clearSelection();
  QTest::keyClick(list, Qt::Key_C, Qt::ControlModifier);
  EXPECT_THAT(QGuiApplication::clipboard()->text().toStdString(),
              testing::AllOf(HasSubstr("a line is no job"), HasSubstr("rank 0's clock")));
}

}  // namespace
}  // namespace pipetrace
