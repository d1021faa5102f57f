#include "runtime/checkpoint/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "runtime/checkpoint/testing/saved_model.h"
#include "runtime/testing/error_of.h"

namespace pipetrace::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<BlockState> someStates() { return SmallModel(2, sgd()).states(); }

TEST(CheckpointFolderTest, AStepCountsOnceItsManifestIsThere) {
  const TestFolder folder;
  const std::string path = folder / "new/check points";
  EXPECT_EQ(newestCheckpoint(path), std::nullopt) << "a folder that is missing";
  CheckpointFolder checkpoints(path);
  EXPECT_TRUE(checkpoints.isLocked());
  checkpoints.beginStep(7);
  Manifest manifest{.step = 7, .numBlocks = 2};
  const std::atomic<bool> never{false};
  for (const BlockState& state : someStates()) {
    manifest.files.push_back(writeBlockFile(stepFolder(path, 7), state, never));
    EXPECT_THAT(checkpointSteps(path), IsEmpty());
    EXPECT_THAT(unfinishedSteps(path), ElementsAre(7));
  }
  checkpoints.finishStep(manifest);
  EXPECT_THAT(checkpointSteps(path), ElementsAre(7));
  EXPECT_THAT(unfinishedSteps(path), IsEmpty());
  EXPECT_EQ(readManifest(readFile(path + "/step_7/manifest.json"), "m"), manifest);
  EXPECT_THAT(errorOf([&] { checkpoints.beginStep(7); }),
              HasSubstr("step_7 has a checkpoint already"));
}

TEST(CheckpointFolderTest, StepsAreInTheOrderOfTheirNumbers) {
  const TestFolder folder;
  for (const int step : {100, 20, 9}) writeCheckpoint(folder.path(), step, someStates());
  for (const char* other : {"step_007", "step_", "step_8x", "steps", "step_-0"}) {
    fs::create_directories(folder / other);
    writeFile(folder / other + "/manifest.json", "{}");
  }
  EXPECT_THAT(checkpointSteps(folder.path()), ElementsAre(9, 20, 100));
  EXPECT_EQ(newestCheckpoint(folder.path()), 100);
}

TEST(CheckpointFolderTest, TwoRunsThatWriteToOneFolderGetAnErrorThatNamesTheFirst) {
  const TestFolder folder;
  {
    const CheckpointFolder first(folder.path());
    const std::string error = errorOf([&] { const CheckpointFolder second(folder.path()); });
    EXPECT_THAT(error, HasSubstr(folder.path()));
    EXPECT_THAT(error, HasSubstr("another run, which is going on (process " +
                                 std::to_string(::getpid()) + " on "));
  }
  const CheckpointFolder third(folder.path());
}

TEST(CheckpointFolderTest, AFolderThatCannotBeMadeIsNamedWithTheReason) {
  const TestFolder folder;
  writeFile(folder / "file", "");
  EXPECT_EQ(errorOf([&] { const CheckpointFolder own(folder / "file"); }),
            "cannot make the folder " + folder / "file" + ": Not a directory");
  EXPECT_EQ(errorOf([&] { const CheckpointFolder own(folder / "file/below"); }),
            "cannot make the folder " + folder / "file/below" + ": Not a directory");
  EXPECT_THAT(errorOf([&] { const CheckpointFolder own("/proc/check points"); }),
              HasSubstr("cannot make the folder /proc/check points: "));
}

TEST(CheckpointFolderTest, LeftoversOfKilledRunsGoAndOtherFilesStay) {
  const TestFolder folder;
  writeCheckpoint(folder.path(), 10, someStates());
  writeCheckpoint(folder.path(), 20, someStates());
  writeCheckpoint(folder.path(), 30, someStates());
  // As a kill leaves them: the manifest was not there yet, or was removed first.
  fs::rename(folder / "step_20/manifest.json", folder / "step_20/manifest.json.part-a1b2c3");
  fs::rename(folder / "step_20/block_1.pt", folder / "step_20/block_1.pt.part-x9y8z7");
  fs::remove(folder / "step_30/manifest.json");
  writeFile(folder / "step_30/notes.txt", "mine");
  writeFile(folder / "readme", "mine");
  const CheckpointFolder checkpoints(folder.path());
  EXPECT_THAT(folder.files(), ElementsAre("readme", "step_10/block_0.pt", "step_10/block_1.pt",
                                          "step_10/manifest.json", "step_30/notes.txt"));
  EXPECT_FALSE(fs::exists(folder / "step_20"));
}

TEST(CheckpointFolderTest, TheNewestStayAndOneAlwaysDoes) {
  const TestFolder folder;
  for (const int step : {1, 2, 3, 4, 5}) writeCheckpoint(folder.path(), step, someStates());
  CheckpointFolder checkpoints(folder.path());
  checkpoints.keepNewest(7);
  EXPECT_EQ(checkpointSteps(folder.path()).size(), 5U);
  checkpoints.keepNewest(3);
  EXPECT_THAT(checkpointSteps(folder.path()), ElementsAre(3, 4, 5));
  checkpoints.beginStep(6);  // under way: it is no reason to remove step 5
  checkpoints.keepNewest(1);
  EXPECT_THAT(checkpointSteps(folder.path()), ElementsAre(5));
  EXPECT_EQ(errorOf([&] { checkpoints.keepNewest(0); }), "at least one checkpoint must be kept");
  EXPECT_THAT(folder.files(),
              ElementsAre("step_5/block_0.pt", "step_5/block_1.pt", "step_5/manifest.json"));
}

TEST(CheckpointFolderTest, ARunThatGoesBackRemovesWhatCameLater) {
  const TestFolder folder;
  for (const int step : {10, 20, 30}) writeCheckpoint(folder.path(), step, someStates());
  CheckpointFolder checkpoints(folder.path());
  checkpoints.removeAfter(10);
  EXPECT_THAT(checkpointSteps(folder.path()), ElementsAre(10));
  checkpoints.beginStep(20);
}

TEST(CheckpointFolderTest, AStepWhoseFilesAreNotThereIsNotFinished) {
  const TestFolder folder;
  CheckpointFolder checkpoints(folder.path());
  checkpoints.beginStep(3);
  Manifest manifest{.step = 3, .numBlocks = 2};
  const std::atomic<bool> never{false};
  for (const BlockState& state : someStates()) {
    manifest.files.push_back(writeBlockFile(stepFolder(folder.path(), 3), state, never));
  }
  fs::resize_file(folder / "step_3/block_1.pt", 100);
  EXPECT_THAT(errorOf([&] { checkpoints.finishStep(manifest); }),
              HasSubstr("step_3/block_1.pt has not the bytes that its rank has written; do all "
                        "ranks share the folder"));
  fs::remove(folder / "step_3/block_0.pt");
  EXPECT_THAT(errorOf([&] { checkpoints.finishStep(manifest); }),
              HasSubstr("step_3/block_0.pt is missing"));
  manifest.files.pop_back();
  EXPECT_EQ(errorOf([&] { checkpoints.finishStep(manifest); }), "the checkpoint has no block_1.pt");
  EXPECT_THAT(checkpointSteps(folder.path()), IsEmpty());
  checkpoints.giveUpStep(3);
  EXPECT_THAT(folder.files(), IsEmpty());
}

}  // namespace
}  // namespace pipetrace::testing
