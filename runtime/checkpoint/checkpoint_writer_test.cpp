#include "runtime/checkpoint/checkpoint_writer.h"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <semaphore>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/testing/saved_model.h"
#include "runtime/testing/error_of.h"

namespace pipetrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A writer whose writing begins when the test says so.
struct HeldWriter {
  explicit HeldWriter(const std::string& folder)
      : writer(std::make_unique<CheckpointWriter>(folder, [this](const auto& write) {
          begun.release();
          released.acquire();
          write();
        })) {}
  std::counting_semaphore<> begun{0};  ///< released once a save is under way
  std::counting_semaphore<> released{0};
  std::unique_ptr<CheckpointWriter> writer;
};

TEST(CheckpointWriterTest, FilesHaveTheWeightsOfTheTimeOfTheSave) {
  const TestFolder folder;
  CheckpointFolder checkpoints(folder.path());
  SmallModel model(3, adamw());
  model.step(1);
  const std::vector<at::Tensor> then = copiesOf(model.tensors());
  HeldWriter held(folder.path());
  held.writer->save(5, model.states());
  EXPECT_TRUE(held.writer->isBusy());
  EXPECT_FALSE(held.writer->result()) << "does not wait";
  model.step(2);
  held.released.release();
  held.writer->wait();
  EXPECT_FALSE(held.writer->isBusy());
  const auto saved = held.writer->result();
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->error, "");
  EXPECT_EQ(saved->step, 5);
  EXPECT_GT(saved->bytes, 3 * 4 * (12 + 4));
  EXPECT_FALSE(held.writer->result()) << "each outcome is given once";
  checkpoints.finishStep({.step = 5, .numBlocks = 3, .files = saved->files});

  SmallModel second(3, adamw(), 8);
  restore(Checkpoint::newest(folder.path()).read(second.live()), second.live());
  EXPECT_TRUE(areEqual(second.tensors(), then));
  second.step(2);
  EXPECT_TRUE(areEqual(second.tensors(), model.tensors()));
}

TEST(CheckpointWriterTest, ASaveWaitsForTheOneBefore) {
  const TestFolder folder;
  SmallModel model(1, sgd());
  HeldWriter held(folder.path());
  held.writer->save(1, model.states());
  auto second = std::async(std::launch::async, [&] { held.writer->save(2, model.states()); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  held.released.release();
  second.wait();
  const auto first = held.writer->result();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->step, 1);
  EXPECT_THAT(folder.files(), ElementsAre("step_1/block_0.pt"));
  held.released.release();
  held.writer->wait();
  EXPECT_EQ(held.writer->result()->step, 2);
}

TEST(CheckpointWriterTest, ResultsComeInTheirOrder) {
  const TestFolder folder;
  SmallModel model(1, sgd());
  CheckpointWriter writer(folder.path());
  for (const int step : {1, 2, 3}) writer.save(step, model.states());
  writer.wait();
  for (const int step : {1, 2, 3}) EXPECT_EQ(writer.result()->step, step);
  EXPECT_FALSE(writer.result());
}

TEST(CheckpointWriterTest, AnErrorNamesThePathAndTheNextSaveWorks) {
  const TestFolder folder;
  writeFile(folder / "step_1", "in the way");
  SmallModel model(1, sgd());
  CheckpointWriter writer(folder.path());
  writer.save(1, model.states());
  writer.save(2, model.states());
  writer.wait();
  EXPECT_EQ(writer.result()->error,
            "cannot make the folder " + folder / "step_1" + ": Not a directory");
  EXPECT_EQ(writer.result()->error, "");
}

TEST(CheckpointWriterTest, ItsEndGivesUpWhatIsUnderWayAndLeavesNoPartOfAFile) {
  const TestFolder folder;
  SmallModel model(2, sgd());
  HeldWriter held(folder.path());
  held.writer->save(1, model.states());
  held.begun.acquire();
  auto end = std::async(std::launch::async, [&] { held.writer.reset(); });
  EXPECT_EQ(end.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  held.released.release();
  end.wait();
  EXPECT_THAT(folder.files(), IsEmpty());
  const CheckpointFolder next(folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder / "step_1"));
}

TEST(CheckpointWriterTest, RanksWriteIntoOneFolderAtOnce) {
  const TestFolder folder;
  CheckpointFolder checkpoints(folder.path());
  SmallModel model(8, adamw());
  model.step(1);
  const std::vector<BlockState> states = model.states();
  std::vector<std::unique_ptr<CheckpointWriter>> ranks;
  checkpoints.beginStep(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    ranks.push_back(std::make_unique<CheckpointWriter>(folder.path()));
    ranks.back()->save(4, {states[2 * rank], states[2 * rank + 1]});
  }
  Manifest manifest{.step = 4, .numBlocks = 8};
  for (auto& rank : ranks) {
    rank->wait();
    const auto told = filesFromText(filesText(rank->result()->files));
    manifest.files.insert(manifest.files.end(), told.begin(), told.end());
  }
  checkpoints.finishStep(manifest);
  SmallModel second(8, adamw(), 3);
  restore(Checkpoint(folder.path(), 4).read(second.live()), second.live());
  EXPECT_TRUE(areEqual(second.tensors(), model.tensors()));
}

}  // namespace
}  // namespace pipetrace::testing
