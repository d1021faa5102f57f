// A training that goes on from a checkpoint, under the same plan or another one.
#include <gmock/gmock.h>

#include <filesystem>

#include "runtime/engine/testing/resumed_case.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"

namespace pipetrace {
namespace {

using testing::CaseModel;
using testing::engineOfCase;
using ::testing::HasSubstr;
using testing::kStepsOfRun;
using testing::lastOf;
using testing::lossesUnder;
using testing::ResumedCase;
using testing::rowsOfCase;
using testing::ScratchFolder;
using ::testing::SizeIs;

TEST(Resume, GoesOnWithTheLossesOfTheUninterruptedRun) {
  const auto expectSame = [](const ResumedCase& trained, const Strategy& strategy) {
    const ScratchFolder folder;
    const std::vector<double> whole = lossesUnder(trained, strategy);
    const CheckpointOptions saves{.folder = folder.path("saved runs"), .everySteps = 3, .keep = 9};
    EXPECT_EQ(lossesUnder(trained, strategy, saves), whole) << "saving changes nothing";
    // Steps after the one from which it goes on are made again.
    for (const int from : {3, static_cast<int>(whole.size()) / 3 * 3}) {
      CheckpointOptions resumes = saves;
      resumes.resumes = true;
      resumes.resumeStep = from;
      EXPECT_EQ(lossesUnder(trained, strategy, resumes),
                lastOf(whole, whole.size() - static_cast<std::size_t>(from)))
          << strategy.plan.schedule << " from " << from;
    }
    // The last step of a training is saved, whichever it is.
    CheckpointOptions newest{.folder = folder.path("shorter"), .everySteps = 3};
    lossesUnder(trained, strategy, newest, static_cast<int>(whole.size()) - 2);
    newest.resumes = true;
    EXPECT_EQ(lossesUnder(trained, strategy, newest), lastOf(whole, 2));
  };
  expectSame({}, {.plan = {.schedule = "1F1B", .ranks = 2}});
  expectSame({.isSgd = true}, {.plan = {.schedule = "1F1B", .ranks = 2, .replicas = 2}});
  expectSame({.model = CaseModel::kMlp}, {.plan = {.schedule = "PipeDream", .ranks = 4}});
  expectSame({.model = CaseModel::kMlp, .isSgd = true},
             {.plan = {.schedule = "DualPipe", .ranks = 4}});
}

// A chain has the same bits under all plans with a flush. From one without, the new plan goes on
// from the newest weights: as from the same weights in the other order.
TEST(Resume, GoesOnUnderOtherSchedulesAndNumbersOfStages) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const ScratchFolder folder;
  const CheckpointOptions saves{.folder = folder.path(), .everySteps = 4, .keep = 9};
  const std::vector<double> whole =
      lossesUnder(trained, {.plan = {.schedule = "1F1B", .ranks = 4}}, saves);
  const CheckpointOptions resumes{.folder = folder.path(), .resumes = true, .resumeStep = 4};
  for (const Strategy& other :
       {Strategy{.plan = {.schedule = "FThenB", .ranks = 2}},
        Strategy{.plan = {.schedule = "ZB-H1", .ranks = 4}},
        Strategy{.plan = {.schedule = "Interleaved1F1B", .ranks = 2, .chunks = 2}},
        Strategy{.plan = {.ranks = 3}, .partition = {.blocks = {1, 2, 1}}},
        Strategy{.plan = {.ranks = 1}}}) {
    const std::vector<double> found = lossesUnder(trained, other, resumes);
    ASSERT_THAT(found, SizeIs(4)) << other.plan.schedule;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(found[i], whole[4 + i], 1e-6 * whole[4 + i]) << other.plan.schedule << " " << i;
    }
  }
}

TEST(Resume, FromAPlanWithoutAFlushTakesTheNewestWeights) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const ScratchFolder folder;
  lossesUnder(trained, {.plan = {.schedule = "PipeDream", .ranks = 4}},
              {.folder = folder.path(), .everySteps = 4, .keep = 9});
  const CheckpointOptions resumes{.folder = folder.path(), .resumes = true, .resumeStep = 4};
  const std::vector<double> found =
      lossesUnder(trained, {.plan = {.schedule = "ZB-H1", .ranks = 4}}, resumes);
  EXPECT_EQ(lossesUnder(trained, {.plan = {.schedule = "1F1B", .ranks = 2}}, resumes), found);
  EXPECT_THAT(found, SizeIs(4));
}

TEST(Resume, IsRefusedWhereItMakesNoSense) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const Strategy strategy{.plan = {.ranks = 2}};
  const ScratchFolder folder;
  const auto errorOf = [&](const ResumedCase& other, const CheckpointOptions& options,
                           int steps = kStepsOfRun) {
    return testing::errorOf([&] { lossesUnder(other, strategy, options, steps); });
  };
  CheckpointOptions resumes{.folder = folder.path(), .resumes = true};
  EXPECT_THAT(errorOf(trained, resumes), HasSubstr("no checkpoint in " + folder.path()));
  lossesUnder(trained, strategy, {.folder = folder.path(), .everySteps = 4});
  const CheckpointOptions other{.folder = folder.path(), .everySteps = 3};
  EXPECT_EQ(errorOf(trained, other), "the folder " + folder.path() +
                                         " has a checkpoint of step 8 already, and a new training "
                                         "would mix its own with it; resume to go on from it, or "
                                         "name another folder");
  EXPECT_THAT(errorOf({.model = CaseModel::kRich}, resumes), HasSubstr("block"));
  EXPECT_THAT(errorOf({.model = CaseModel::kMlp, .isSgd = true}, resumes), HasSubstr("AdamW"));
  EXPECT_THAT(errorOf(trained, resumes, 5), HasSubstr("none is left"));
  resumes.resumeStep = 5;
  EXPECT_THAT(errorOf(trained, resumes), HasSubstr("5"));
  // A signal that nobody looks for would be lost.
  for (const CheckpointOptions& without :
       {CheckpointOptions{.onStop = true}, CheckpointOptions{.resumes = true}}) {
    EXPECT_THAT(errorOf(trained, without), HasSubstr("checkpoints need a folder"));
  }
}

TEST(Resume, NotesSayWhatHasChangedOnceThereIsATraining) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const ScratchFolder folder;
  lossesUnder(trained, {.plan = {.ranks = 2}}, {.folder = folder.path()}, 2);
  std::vector<std::string> notes;
  const auto resumed = [&](const DataSet& rows, int steps) {
    notes.clear();
    EngineOptions options;
    options.say = [&](const std::string& line) { notes.push_back(line); };
    Engine engine = engineOfCase(trained, {.plan = {.ranks = 2}},
                                 {.folder = folder.path(), .resumes = true}, std::move(options));
    const std::string error = testing::errorOf([&] { engine.fit(rows, {.stepsPerEpoch = steps}); });
    return error;
  };
  EXPECT_THAT(resumed(rowsOfCase(trained), 2), HasSubstr("none is left"));
  EXPECT_THAT(notes, ::testing::IsEmpty()) << "nothing goes on";
  DataSet half = rowsOfCase(trained);
  half.batchSize /= 2;
  EXPECT_EQ(resumed(half, 3), "");
  const std::string rows = std::to_string(testing::kRowsOfStep);
  EXPECT_THAT(notes,
              ::testing::ElementsAre(
                  HasSubstr("note: goes on from step 2 of "),
                  "note: it was saved with steps of " + rows + " rows, and goes on with steps of " +
                      std::to_string(testing::kRowsOfStep / 2) + ", from the rows of step 2 on"));
  EXPECT_EQ(resumed(half, 4), "");
  EXPECT_THAT(notes, SizeIs(1)) << "the same rows";
}

TEST(Resume, ASecondRunThatSavesInTheSameFolderIsRefused) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const ScratchFolder folder;
  const CheckpointOptions saves{.folder = folder.path(), .everySteps = 2};
  Engine first = engineOfCase(trained, {.plan = {.ranks = 2}}, saves);
  first.fit(rowsOfCase(trained), {.stepsPerEpoch = 2});
  EXPECT_THAT(testing::errorOf([&] { lossesUnder(trained, {.plan = {.ranks = 2}}, saves); }),
              HasSubstr(folder.path()));
  first.finish();
}

TEST(Resume, ATimeEndsTheTrainingAndSaves) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const ScratchFolder folder;
  Engine engine = engineOfCase(trained, {.plan = {.ranks = 2}},
                               {.folder = folder.path(), .exitAfterMinutes = 1e-9});
  const FitResult result = engine.fit(rowsOfCase(trained));
  engine.finish();
  EXPECT_THAT(result.losses, SizeIs(1));
  EXPECT_THAT(result.stoppedBy, HasSubstr("minutes are over"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("step_1/manifest.json")));
}

}  // namespace
}  // namespace pipetrace
