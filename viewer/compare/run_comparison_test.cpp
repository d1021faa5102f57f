#include "viewer/compare/run_comparison.h"

#include <gmock/gmock.h>

#include <QTemporaryDir>
#include <QTest>

#include "analysis/diff/run_diff.h"
#include "analysis/present/diff_report.h"
#include "analysis/testing/run_of_timeline.h"
#include "viewer/testing/compared_runs.h"
#include "viewer/testing/slow_input.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Stage = RunComparison::Stage;

std::vector<std::string> sentencesOf(const ComparedRuns& runs) {
  std::vector<std::string> all;
  for (const QString& sentence : runs.sentences) all.push_back(sentence.toStdString());
  return all;
}

std::vector<std::string> sentences(const SimulatedRun& a, const SimulatedRun& b) {
  return sentencesOf(compareRuns(*a.profile("before"), *b.profile("after")));
}

/// A comparison with a run A that is ready, and logs of a run B.
class RunComparisonTest : public testing::Test {
 protected:
  RunComparisonTest() {
    SimulatedRun{.backwardOfStage2 = 1.5}.writeTo(folder_.path().toStdString());
    comparison_.setA(a_);
    comparison_.setReadyA();
  }
  QStringList logs() const { return {folder_.path()}; }
  bool reaches(Stage stage) {
    return QTest::qWaitFor([&] { return comparison_.stage() == stage; }, 20'000);
  }

  QTemporaryDir folder_;
  std::shared_ptr<const LoadedProfile> a_ = SimulatedRun().profile("a");
  RunComparison comparison_;
};

TEST(CompareRunsTest, TheSentencesAreThoseOfDiff) {
  const SimulatedRun slow{.backwardOfStage2 = 1.5};
  const RunDiff diff = diffOf(asRun(SimulatedRun().profile("before")->timeline()),
                              asRun(slow.profile("after")->timeline()), {});
  const DiffReport report{diff, "before", "after"};
  const std::vector<std::string> all = sentences({}, slow);
  ASSERT_GE(all.size(), 3U);
  EXPECT_EQ(all[0], diffAnswer(diff));
  EXPECT_EQ(all[1], "A  " + diffTextOfA(report));
  EXPECT_EQ(all[2], "B  " + diffTextOfB(report));
  EXPECT_THAT(all[0], HasSubstr("stage 2's backwards take 50"));
  EXPECT_THAT(all, Contains(testing::ContainsRegex("^\\+[0-9.]+ ms  stage 2's backwards")));
}

TEST(CompareRunsTest, RunsOfOtherSizesAndSchedulesSayWhatIsComparedInstead) {
  EXPECT_THAT(sentences({}, {.ranks = 8}),
              Contains(HasSubstr("compared per micro-batch, by kind of job")));
  EXPECT_THAT(sentences({}, {.microBatches = 12}), Contains(HasSubstr("per micro-batch")));
  EXPECT_THAT(sentences({}, {.schedule = "ZBH1"}),
              Contains(HasSubstr("backwards in halves, which are compared as whole ones")));
  EXPECT_THAT(sentences({}, {.schedule = "PipeDream", .steps = 6}),
              Contains(HasSubstr("B has no flush between steps")));
}

TEST(CompareRunsTest, RanksThatOneRunLacksAreLeftOutOfBoth) {
  SimulatedRun all;
  SimulatedRun some{.lacksRank = 3};
  const auto a = all.profile("a");
  const auto b = some.profile("b");
  EXPECT_THAT(sentencesOf(compareRuns(*a, *b)),
              Contains(HasSubstr("are compared as if only ranks 0 to 2 were there")));
  EXPECT_EQ(a->model().rankCount(), 4U) << "the run that is drawn keeps all";
}

TEST(CompareRunsTest, ARunThatCannotBeMeasuredSaysWhy) {
  Timeline timeline;
  Event& job = timeline.track(0, kComputeLane).events.emplace_back();
  job.kind = JobKind::kOptimizer;
  job.end = 1000;
  const LoadedProfile odd("odd", asRun(std::move(timeline)), {}, true);
  const ComparedRuns result = compareRuns(*SimulatedRun().profile("a"), odd);
  EXPECT_FALSE(result.how);
  EXPECT_THAT(sentencesOf(result), ElementsAre(HasSubstr("compute job")));
}

TEST_F(RunComparisonTest, BIsReadComparedAndGivenUpAgain) {
  comparison_.open(logs(), AlignBy::kBest);
  EXPECT_EQ(comparison_.stage(), Stage::kReading) << "nobody waits for it";
  ASSERT_TRUE(reaches(Stage::kDone));
  EXPECT_THAT(comparison_.result()->sentences.front().toStdString(), HasSubstr("stage 2"));
  comparison_.close();
  EXPECT_EQ(comparison_.stage(), Stage::kNone);
  EXPECT_EQ(comparison_.b(), nullptr);
  EXPECT_EQ(comparison_.result(), nullptr);
}

TEST_F(RunComparisonTest, TwinsAreLookedForInTheStepsThatAreChosen) {
  comparison_.open(logs(), AlignBy::kBest);
  ASSERT_TRUE(reaches(Stage::kDone));
  EXPECT_EQ(comparison_.twins(), nullptr);
  const auto twinsIn = [&](std::size_t ofA, std::size_t ofB) {
    comparison_.setSteps(a_->model().steps()[ofA], comparison_.b()->model().steps()[ofB]);
    EXPECT_EQ(comparison_.twins(), nullptr) << "those of other steps are gone";
    EXPECT_TRUE(QTest::qWaitFor([&] { return comparison_.twins() != nullptr; }, 20'000));
    const JobTwins& twins = *comparison_.twins();
    return std::tuple(twins.step(WhichRun::kA).step, twins.step(WhichRun::kB).step,
                      twins.byDifference().size());
  };
  EXPECT_EQ(twinsIn(0, 0), std::tuple(0, 0, 8U));
  EXPECT_EQ(twinsIn(2, 1), std::tuple(2, 1, 8U)) << "eight backwards of stage 2";
}

TEST_F(RunComparisonTest, BWaitsForWhatComparingNeedsOfA) {
  RunComparison early;
  early.open(logs(), AlignBy::kBest);
  ASSERT_TRUE(QTest::qWaitFor([&] { return early.stage() == Stage::kWaiting; }, 20'000));
  QTest::qWait(50);
  EXPECT_EQ(early.stage(), Stage::kWaiting);
  early.setA(a_);
  early.setReadyA();
  EXPECT_TRUE(QTest::qWaitFor([&] { return early.stage() == Stage::kDone; }, 20'000));
}

TEST_F(RunComparisonTest, ARunThatIsStillBeingReadCanBeGivenUp) {
  const SlowInput slow;
  comparison_.open({slow.path()}, AlignBy::kBest);
  EXPECT_EQ(comparison_.stage(), Stage::kReading);
  comparison_.close();
  EXPECT_EQ(comparison_.stage(), Stage::kNone);
  comparison_.open(logs(), AlignBy::kBest);
  EXPECT_TRUE(reaches(Stage::kDone));
}

TEST_F(RunComparisonTest, AnotherFirstRunTakesTheSecondAwayWhateverItIsAt) {
  comparison_.open(logs(), AlignBy::kBest);
  comparison_.setA(nullptr);
  EXPECT_EQ(comparison_.stage(), Stage::kNone);
  comparison_.setA(a_);
  comparison_.setReadyA();
  comparison_.open(logs(), AlignBy::kBest);
  ASSERT_TRUE(reaches(Stage::kComparing) || comparison_.stage() == Stage::kDone);
  comparison_.setA(nullptr);
  EXPECT_EQ(comparison_.stage(), Stage::kNone);
  QTest::qWait(200);
  EXPECT_EQ(comparison_.result(), nullptr) << "what was on its way comes no more";
}

TEST_F(RunComparisonTest, AnInputWithoutARunSaysSo) {
  QString message;
  QObject::connect(&comparison_, &RunComparison::failed,
                   [&](const QString& text) { message = text; });
  comparison_.open({QStringLiteral("/nowhere/logs")}, AlignBy::kBest);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !message.isEmpty(); }, 20'000));
  EXPECT_THAT(message.toStdString(), HasSubstr("/nowhere/logs"));
  EXPECT_EQ(comparison_.stage(), Stage::kNone);
}

}  // namespace
}  // namespace pipetrace
