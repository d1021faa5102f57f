#include "analysis/present/diagnostic_lines.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::ElementsAre;

Diagnostic warningOf(const std::string& file, const std::string& message = "a job has no end") {
  Diagnostic diagnostic;
  diagnostic.file = file;
  diagnostic.line = 7;
  diagnostic.message = message;
  return diagnostic;
}

std::vector<std::string> linesOf(const std::vector<Diagnostic>& list,
                                 Severity lowest = Severity::kNote) {
  Diagnostics diagnostics;
  for (const Diagnostic& each : list) diagnostics.add(each);
  return diagnosticLines(diagnostics, lowest);
}

TEST(DiagnosticLines, ThreeFilesOfRanksShareALine) {
  EXPECT_THAT(linesOf({warningOf("logs/workerlog.0"), warningOf("logs/workerlog.1")}),
              ElementsAre("logs/workerlog.0:7: warning: a job has no end",
                          "logs/workerlog.1:7: warning: a job has no end"));
  EXPECT_THAT(linesOf({warningOf("logs/workerlog.0"), warningOf("other", "is empty"),
                       warningOf("logs/workerlog.1"), warningOf("logs/workerlog.2")}),
              ElementsAre("logs/workerlog.* (ranks 0 to 2): warning: a job has no end",
                          "other:7: warning: is empty"));
  EXPECT_THAT(linesOf({warningOf("workerlog.0.ring"), warningOf("workerlog.2.ring"),
                       warningOf("workerlog.5.ring")}),
              ElementsAre("workerlog.*.ring (ranks 0, 2 and 5): warning: a job has no end"));
}

TEST(DiagnosticLines, FilesThatAreNotOfRanksOfOneFolderAreCounted) {
  EXPECT_THAT(
      linesOf({warningOf("a/workerlog.0"), warningOf("b/workerlog.1"), warningOf("a/workerlog.2")}),
      ElementsAre("a/workerlog.0 and 2 more files: warning: a job has no end"));
  EXPECT_THAT(
      linesOf({warningOf("workerlog.0"), warningOf("workerlog.1.ring"), warningOf("workerlog.2")}),
      ElementsAre("workerlog.0 and 2 more files: warning: a job has no end"));
  EXPECT_THAT(linesOf({warningOf("a.json"), warningOf("b.json"), warningOf("workerlog.x"),
                       warningOf("workerlog.-1")}),
              ElementsAre("a.json and 3 more files: warning: a job has no end"));
}

TEST(DiagnosticLines, CasesOfAllFilesAreCountedTogether) {
  std::vector<Diagnostic> list;
  for (const int rank : {0, 1, 2}) list.push_back(warningOf("workerlog." + std::to_string(rank)));
  list[1].count = 3;
  EXPECT_THAT(linesOf(list),
              ElementsAre("workerlog.* (ranks 0 to 2): warning: a job has no end (5 times)"));
}

TEST(DiagnosticLines, AdviceIsKeptWhereItIsTheSameForAll) {
  std::vector<Diagnostic> list;
  for (const int rank : {0, 1, 2}) {
    list.push_back(warningOf("workerlog." + std::to_string(rank)));
    list.back().advice = "try --run 0";
  }
  EXPECT_THAT(linesOf(list),
              ElementsAre("workerlog.* (ranks 0 to 2): warning: a job has no end; try --run 0"));
  list[1].advice = "try --run 1";
  EXPECT_THAT(linesOf(list), ElementsAre("workerlog.* (ranks 0 to 2): warning: a job has no end"));
}

TEST(DiagnosticLines, PartsThatDifferFollowTheMessageForSeveral) {
  std::vector<Diagnostic> list;
  for (int rank = 0; rank < 18; ++rank) {
    list.push_back(warningOf("workerlog." + std::to_string(rank),
                             "F2 of rank " + std::to_string(rank) + " has no end"));
    list.back().ofSeveral = "jobs have no end";
    list.back().share = "rank " + std::to_string(rank) + " F2";
  }
  EXPECT_THAT(
      linesOf({list[0], list[1], list[2]}),
      ElementsAre("workerlog.*: warning: jobs have no end: rank 0 F2, rank 1 F2, rank 2 F2; "
                  "pipe-trace info --json lists each"));
  std::string sixteen;
  for (int rank = 0; rank < 16; ++rank) {
    sixteen += (rank == 0 ? "" : ", ") + list[static_cast<std::size_t>(rank)].share;
  }
  EXPECT_THAT(linesOf(list), ElementsAre("workerlog.*: warning: jobs have no end: " + sixteen +
                                         " and 2 more; pipe-trace info --json lists each"));
  list.resize(16);
  EXPECT_THAT(linesOf(list), ElementsAre("workerlog.*: warning: jobs have no end: " + sixteen +
                                         "; pipe-trace info --json lists each"));
}

TEST(DiagnosticLines, SeverityTellsApartAndLeavesOut) {
  Diagnostic note = warningOf("workerlog.2");
  note.severity = Severity::kNote;
  const std::vector<Diagnostic> list = {warningOf("workerlog.0"), warningOf("workerlog.1"), note};
  EXPECT_THAT(linesOf(list), ElementsAre("workerlog.0:7: warning: a job has no end",
                                         "workerlog.1:7: warning: a job has no end",
                                         "workerlog.2:7: note: a job has no end"));
  EXPECT_THAT(linesOf(list, Severity::kWarning),
              ElementsAre("workerlog.0:7: warning: a job has no end",
                          "workerlog.1:7: warning: a job has no end"));
}

TEST(DiagnosticLines, RemarksAboutNoFileAreLinesOfTheirOwn) {
  Diagnostic ofTheRun = warningOf("");
  ofTheRun.line = 0;
  EXPECT_THAT(linesOf({warningOf("workerlog.0"), warningOf("workerlog.1"), warningOf("workerlog.2"),
                       ofTheRun}),
              ElementsAre("workerlog.* (ranks 0 to 2): warning: a job has no end",
                          "warning: a job has no end"));
}

}  // namespace
}  // namespace pipetrace
