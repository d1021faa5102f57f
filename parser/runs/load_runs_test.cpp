#include <gmock/gmock.h>

#include <map>
#include <set>

#include "parser/testing/files.h"
#include "parser/testing/gzip.h"
#include "parser/testing/kineto.h"
#include "parser/testing/load_timeline.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::ThrowsMessage;

constexpr Nanoseconds kHour = 3600 * kNsPerSecond;
constexpr Nanoseconds kBegin = test::KinetoFile::kKinetoBegin;

/// Folders of traces of PyTorch's profiler, one file for each rank.
class LoadRunsTest : public test::FolderTest {
 protected:
  Timeline load(const std::vector<std::string>& inputs) {
    diagnostics_ = {};
    return test::loadTimeline(inputs, {}, diagnostics_);
  }
  std::vector<std::string> reported() const {
    std::vector<std::string> list;
    for (const Diagnostic& d : diagnostics_.list()) list.push_back(toText(d));
    return list;
  }
  void writeTrace(const std::string& name, const test::KinetoFile& file) {
    write(name, test::textOf(file));
  }
  /// The steps of the compute lanes by rank.
  static std::map<int, std::set<int>> stepsOf(const Timeline& timeline) {
    std::map<int, std::set<int>> steps;
    for (const Track& track : timeline.tracks) {
      for (const Event& event : track.events) {
        if (track.lane == kComputeLane) steps[track.rank].insert(event.step);
      }
    }
    return steps;
  }
  std::string all() const { return folder_.string(); }

  Diagnostics diagnostics_;
};

TEST_F(LoadRunsTest, RanksComeFromTheContentsElseFromTheNames) {
  writeTrace("a.json", {.rank = 1});
  writeTrace("b.json", {.rank = 0});
  EXPECT_THAT(load({all()}).ranks, ElementsAre(Key(0), Key(1)));
  EXPECT_THAT(reported(), IsEmpty());
  writeTrace("a.json", {.rank = std::nullopt, .pid = 7});
  write("b.json", "");
  writeTrace("iteration_5/rank2_trace.json", {.rank = std::nullopt, .pid = 8});
  EXPECT_THAT(load({path("iteration_5")}).ranks, ElementsAre(Key(2)));
  std::filesystem::remove(path("a.json"));
  writeTrace("rank-1.json", {.rank = std::nullopt, .pid = 9});
  EXPECT_THAT(load({all()}).ranks, ElementsAre(Key(1), Key(2)));
}

TEST_F(LoadRunsTest, CoordinatesInNamesGiveRanks) {
  for (const char* name : {"dp0_pp1_tp0.json", "dp0_pp0_tp0.json", "dp1_pp1_tp0.json"}) {
    writeTrace(name, {.rank = std::nullopt});
  }
  const Timeline timeline = load({all()});
  EXPECT_THAT(timeline.ranks, ElementsAre(Key(0), Key(2), Key(3)));
}

TEST_F(LoadRunsTest, ANameThatDisagreesWithDistributedInfoIsNotedAndDoesNotCount) {
  writeTrace("rank3_trace.json", {.rank = 1});
  EXPECT_THAT(load({all()}).ranks, ElementsAre(Key(1)));
  EXPECT_THAT(reported(), ElementsAre(AllOf(HasSubstr("rank3_trace.json: note: it is rank 1, as"),
                                            HasSubstr("its name says rank 3"))));
}

TEST_F(LoadRunsTest, FilesThatNothingNumbersAreAnErrorWithTheWayOut) {
  writeTrace("b.json", {.rank = std::nullopt, .pid = 7});
  writeTrace("a.json", {.rank = std::nullopt, .pid = 8});
  EXPECT_THAT(
      [&] {
        load({path("b.json"), path("a.json")});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("nothing says which ranks"),
                                 HasSubstr("such as rank0.json and rank1.json"))));
  EXPECT_THAT(load({path("b.json")}).ranks, ElementsAre(Key(0))) << "one alone is the only rank";
  writeTrace("rank0.json", {.rank = 0, .pid = 9});
  EXPECT_THAT(load({path("rank0.json"), path("a.json")}).ranks, ElementsAre(Key(0), Key(1)));
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("by its place among the inputs")));
}

TEST_F(LoadRunsTest, NumbersInNamesCountAndNotTheOrderOfFiles) {
  for (const int rank : {0, 1, 2, 10}) {
    writeTrace("gpt-" + std::to_string(rank) + ".json", {.rank = std::nullopt, .pid = 50 + rank});
  }
  const Timeline timeline =
      load({path("gpt-0.json"), path("gpt-1.json"), path("gpt-10.json"), path("gpt-2.json")});
  EXPECT_THAT(timeline.ranks, ElementsAre(Key(0), Key(1), Key(2), Key(10)));
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(LoadRunsTest, PackedFilesSayHowToUnpackThem) {
  const test::KinetoFile file;
  write("a.json.gz", test::gzipped(test::gzipped(test::textOf(file))));
  EXPECT_THAT([&] { load({path("a.json.gz")}); },
              ThrowsMessage<Error>(HasSubstr("is compressed twice; unpack it once")));
  write("a.zip", std::string("PK\x03\x04 and more"));
  EXPECT_THAT([&] { load({path("a.zip")}); },
              ThrowsMessage<Error>(HasSubstr("is a zip archive; unpack it")));
}

TEST_F(LoadRunsTest, ProfilerCyclesArePartsOfOneRunAndKeepTheirStepNumbers) {
  for (int rank = 0; rank < 2; ++rank) {
    const std::string name = "node_" + std::to_string(100 + rank);
    writeTrace(name + ".1.pt.trace.json", {.rank = rank, .pid = 100 + rank});
    writeTrace(name + ".2.pt.trace.json",
               {.rank = rank, .pid = 100 + rank, .begin = kBegin + kHour, .firstStep = 7});
  }
  const Timeline timeline = load({all()});
  EXPECT_THAT(stepsOf(timeline),
              ElementsAre(Pair(0, ElementsAre(0, 1, 7, 8)), Pair(1, ElementsAre(0, 1, 7, 8))));
  EXPECT_THAT(timeline.ranks.at(1).partBegins, ElementsAre(kBegin + kHour));
  EXPECT_THAT(reported(),
              ElementsAre(AllOf(HasSubstr("note: the files are 2 parts of one run, up to 3600 s"),
                                HasSubstr("no bubble"), Not(HasSubstr("start again")))));
}

TEST_F(LoadRunsTest, StepsThatStartAgainInAPartAreCountedOn) {
  for (int rank = 0; rank < 2; ++rank) {
    const std::string folder = "iteration_" + std::to_string(rank);
    writeTrace("iteration_10/rank" + std::to_string(rank) + "_trace.json", {.rank = rank});
    writeTrace("iteration_20/rank" + std::to_string(rank) + "_trace.json",
               {.rank = rank, .begin = kBegin + kHour});
  }
  EXPECT_THAT(stepsOf(load({all()})),
              ElementsAre(Pair(0, ElementsAre(0, 1, 2, 3)), Pair(1, ElementsAre(0, 1, 2, 3))));
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("start again in a part are counted on")));
}

TEST_F(LoadRunsTest, AProcessWithoutARankKeepsItsRankInLaterParts) {
  writeTrace("node_5.1.pt.trace.json", {.rank = std::nullopt, .pid = 5});
  writeTrace("node_5.2.pt.trace.json",
             {.rank = std::nullopt, .pid = 5, .begin = kBegin + kHour, .firstStep = 4});
  const Timeline timeline = load({all()});
  EXPECT_THAT(stepsOf(timeline), ElementsAre(Pair(0, ElementsAre(0, 1, 4, 5))));
  EXPECT_EQ(timeline.ranks.at(0).host, "node");
}

TEST_F(LoadRunsTest, TwoExperimentsInOneFolderAreAnErrorWithACommandForEach) {
  for (int rank = 0; rank < 2; ++rank) {
    const std::string number = std::to_string(rank);
    writeTrace("exp a/rank" + number + ".json", {.rank = rank, .pid = 100 + rank});
    writeTrace("exp b/rank" + number + ".json",
               {.rank = rank, .pid = 200 + rank, .begin = kBegin + kHour});
  }
  EXPECT_THAT(
      [&] { load({all()}); },
      ThrowsMessage<Error>(AllOf(
          HasSubstr("the inputs hold 2 runs, which are not merged"),
          HasSubstr("ranks 0 and 1 of 2 in 2 files, from 2026-03-01 10:00:00 UTC, 20.00 ms long:\n"
                    "    pipe-trace '" +
                    path("exp a") + "'\n"),
          HasSubstr("from 2026-03-01 11:00:00 UTC, 20.00 ms long:\n    pipe-trace '" +
                    path("exp b") + "'\n"))));
  EXPECT_THAT(reported(), IsEmpty());
  EXPECT_THAT(load({path("exp a")}).ranks, ElementsAre(Key(0), Key(1)));
}

TEST_F(LoadRunsTest, RunsInOneFolderAreNamedByPatternOrByFiles) {
  for (int rank = 0; rank < 3; ++rank) {
    const std::string number = std::to_string(rank);
    writeTrace("old_rank" + number + ".json", {.rank = rank, .worldSize = 3, .pid = 1});
    writeTrace("rank" + number + ".json", {.rank = rank, .worldSize = 4, .pid = 1});
  }
  const auto message = [&](const std::string& part) {
    EXPECT_THAT([&] { load({all()}); }, ThrowsMessage<Error>(HasSubstr(part)));
  };
  message("pipe-trace " + path("old_rank") + "*.json\n");
  message("pipe-trace " + path("rank") + "*.json\n");
  write("rank9.json", "");  // the pattern would match it
  message("pipe-trace " + path("rank0.json") + " " + path("rank1.json") + " " + path("rank2.json"));
}

TEST_F(LoadRunsTest, ARankTwiceAtOnceIsTwoRunsAndACompressedCopyIsNot) {
  writeTrace("a.json", {.pid = 1});
  writeTrace("b.json", {.pid = 2, .begin = kBegin + kNsPerMs});
  EXPECT_THAT([&] { load({all()}); },
              ThrowsMessage<Error>(HasSubstr("rank 0 of 2 in 1 file, from 2026-03-01")));
  std::filesystem::remove(path("b.json"));
  write("a.json.gz", test::gzipped(contents("a.json")));
  EXPECT_THAT(load({all()}).ranks, ElementsAre(Key(0)));
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("were left out")));
}

TEST_F(LoadRunsTest, LogsOfTwoExperimentsAtDisjointTimesAreAnError) {
  const Timeline early = test::oneFOneB(2, 2, 1);
  Timeline late = early;
  for (Track& track : late.tracks) {
    for (Event& event : track.events) {
      event.begin += kHour;
      event.end += kHour;
    }
  }
  write("workerlog.0", test::logOf(early, 0));
  write("workerlog.1", test::logOf(late, 1));
  EXPECT_THAT([&] { load({all()}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("pipe-trace " + path("workerlog.0") + "\n"),
                                         HasSubstr("pipe-trace " + path("workerlog.1") + "\n"))));
  EXPECT_THAT(load({path("workerlog.1")}).ranks, ElementsAre(Key(1)));
}

TEST_F(LoadRunsTest, ClocksThatWereComparedDoNotMakeLogsOfAnotherRun) {
  Timeline run = test::oneFOneB(2, 2, 1);
  for (Track& track : run.tracks) {
    if (track.rank != 1) continue;
    for (Event& event : track.events) {
      event.begin -= kHour;
      event.end -= kHour;
    }
  }
  run.ranks.at(1).clockReadings = {{run.span().begin, kHour, 100}};
  for (int rank = 0; rank < 2; ++rank) {
    write("workerlog." + std::to_string(rank), test::logOf(run, rank));
  }
  EXPECT_THAT(load({all()}).ranks, ElementsAre(Key(0), Key(1)));
}

}  // namespace
}  // namespace pipetrace
