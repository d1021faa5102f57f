#include "parser/runs/find_runs.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::ElementsAre;

constexpr Nanoseconds kFirstBegin = 1'772'359'200 * kNsPerSecond;

/// A trace of one rank from one second to another.
FileFacts trace(int rank, int from, int to, const std::string& pid = {}) {
  FileFacts file;
  file.path = "folder/trace" + std::to_string(rank) + ".json";
  file.format = "Chrome JSON";
  file.process.id = pid;
  file.span = {kFirstBegin + from * kNsPerSecond, kFirstBegin + to * kNsPerSecond};
  file.ranks = {{rank, file.span}};
  file.events = 10;
  file.worldSize = 4;
  file.hasForward = file.hasBackward = true;
  return file;
}

FileFacts with(FileFacts file, auto FileFacts::*member, auto value) {
  file.*member = value;
  return file;
}

using Files = std::vector<FileFacts>;

TEST(FindRuns, RanksThatOverlapInTimeAreOneRunEvenThroughAThird) {
  EXPECT_THAT(findRuns(Files{trace(0, 0, 100), trace(1, 60, 300), trace(2, 290, 400)}),
              ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(FindRuns, RanksAtDisjointTimesAreOfDifferentRunsInTheOrderOfTime) {
  EXPECT_THAT(findRuns(Files{trace(0, 3600, 3660), trace(1, 0, 60), trace(2, 3601, 3661)}),
              ElementsAre(ElementsAre(1), ElementsAre(0, 2)));
}

TEST(FindRuns, OneRankOfAnEarlierRunDoesNotMakeALaterRunItsPart) {
  Files files = {trace(0, 0, 60, "7")};
  for (int rank = 0; rank < 4; ++rank) files.push_back(trace(rank, 3600, 3660, "7"));
  EXPECT_THAT(findRuns(files), ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3, 4)));
}

TEST(FindRuns, OtherWorldSizesAreOfDifferentRuns) {
  Files files = {trace(0, 0, 60), trace(1, 0, 60), trace(2, 1, 60)};
  files[1].worldSize = 2;
  EXPECT_THAT(findRuns(files), ElementsAre(ElementsAre(1), ElementsAre(0, 2)));
  files[1].worldSize = std::nullopt;
  EXPECT_THAT(findRuns(files), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(FindRuns, ARankTwiceAtOnceMakesTwoRunsThatKeepToTheirFolders) {
  Files files = {trace(0, 0, 60, "1"), trace(0, 1, 61, "2"), trace(1, 1, 61, "3"),
                 trace(1, 0, 60, "4")};
  for (const std::size_t file : {0, 3}) files[file].path = "b/" + files[file].path;
  EXPECT_THAT(findRuns(files), ElementsAre(ElementsAre(0, 3), ElementsAre(1, 2)));
}

TEST(FindRuns, ACopyOfAFileIsOfItsRun) {
  EXPECT_THAT(findRuns(Files{trace(0, 0, 60, "1"), trace(0, 0, 60, "1")}),
              ElementsAre(ElementsAre(0, 1)));
}

TEST(FindRuns, LaterFilesOfTheSameProcessesArePartsOfTheRun) {
  Files files;
  for (const int from : {0, 600, 1200}) {
    for (int rank = 0; rank < 4; ++rank) {
      files.push_back(trace(rank, from + rank, from + 60, std::to_string(rank)));
    }
  }
  EXPECT_THAT(findRuns(files), ElementsAre(testing::SizeIs(12)));
  for (FileFacts& file : files) {
    if (file.span.begin > kFirstBegin + 1000 * kNsPerSecond) file.process.id += "0";
  }
  EXPECT_THAT(findRuns(files), ElementsAre(testing::SizeIs(8), testing::SizeIs(4)));
}

TEST(FindRuns, FilesThatAreMonthsApartAreOfDifferentRuns) {
  constexpr int kDay = 24 * 3600;
  for (const int days : {29, 31}) {
    Files files;
    for (const int from : {0, days * kDay}) {
      for (int rank = 0; rank < 4; ++rank) {
        files.push_back(trace(rank, from, from + 60, std::to_string(rank)));
      }
    }
    EXPECT_THAT(findRuns(files), testing::SizeIs(days < 30 ? 1 : 2));
  }
}

TEST(FindRuns, PartsOfRanksThatAreSkewedInTimeAreOneRun) {
  EXPECT_THAT(findRuns(Files{trace(0, 0, 10, "1"), trace(1, 5, 15, "2"), trace(0, 11, 20, "1"),
                             trace(1, 16, 25, "2")}),
              ElementsAre(testing::SizeIs(4)));
}

TEST(FindRuns, StepsOfAnUnknownProcessThatGoOnAreAPartAndStepsThatStartAgainARun) {
  Files files = {trace(0, 0, 60), trace(0, 600, 660)};
  EXPECT_THAT(findRuns(files), ElementsAre(testing::SizeIs(2)));
  files[0].firstStep = 0;
  files[0].lastStep = 3;
  files[1].firstStep = 3;
  files[1].lastStep = 6;
  EXPECT_THAT(findRuns(files), ElementsAre(testing::SizeIs(2)));
  files[1].firstStep = 0;
  EXPECT_THAT(findRuns(files), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(FindRuns, ASecondLogOfARankIsOfAnotherRunAtAnyTime) {
  for (const int from : {30, 600}) {
    EXPECT_THAT(findRuns(Files{with(trace(0, 0, 60), &FileFacts::isLog, true),
                               with(trace(0, from, 660), &FileFacts::isLog, true)}),
                ElementsAre(ElementsAre(0), ElementsAre(1)));
  }
}

TEST(FindRuns, LogsThatGrowForwardJobsInTurnAndClocksOfOtherHostsAreNoOtherRun) {
  Files files = {trace(0, 0, 60), trace(1, 61, 90)};
  EXPECT_THAT(findRuns(files), testing::SizeIs(2));
  EXPECT_THAT(findRuns(Files{with(files[0], &FileFacts::isRecording, true), files[1]}),
              testing::SizeIs(1));
  EXPECT_THAT(findRuns(Files{with(files[0], &FileFacts::hasBackward, false), files[1]}),
              testing::SizeIs(1));
  const auto named = [&](const char* a, const char* b) {
    return findRuns(
        Files{with(files[0], &FileFacts::host, a), with(files[1], &FileFacts::host, b)});
  };
  EXPECT_THAT(named("a", "b"), testing::SizeIs(1));
  EXPECT_THAT(named("a", "a"), testing::SizeIs(2));
  EXPECT_THAT(named("a", ""), testing::SizeIs(2));
}

TEST(FindRuns, TimesThatDoNotCountFromTheEpochSeparateNoFiles) {
  Files files = {trace(0, 0, 60), trace(1, 600, 660)};
  for (FileFacts& file : files) file.span.begin -= kFirstBegin;
  EXPECT_THAT(findRuns(files), testing::SizeIs(1));
}

}  // namespace
}  // namespace pipetrace
