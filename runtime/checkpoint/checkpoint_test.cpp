#include "runtime/checkpoint/checkpoint.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <functional>

#include "runtime/checkpoint/testing/saved_model.h"
#include "runtime/testing/error_of.h"

namespace pipetrace::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A checkpoint of step 20, and a model that would go on from it.
class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SmallModel saved(3, adamw());
    saved.step(1);
    manifest_ = writeCheckpoint(folder_.path(), 20, saved.states());
    saved_ = copiesOf(saved.tensors());
  }

  /// The error of going on from the checkpoint, as a run does it. No weight may have changed then.
  std::string resumeError(SmallModel& model) {
    const std::vector<at::Tensor> before = copiesOf(model.tensors());
    const std::string error = errorOf([&] {
      const Checkpoint checkpoint = Checkpoint::newest(folder_.path());
      checkpoint.requireModel(model.names());
      checkpoint.requireOptimizer(optimizerName(model.optimizer()));
      restore(checkpoint.read(model.live()), model.live());
    });
    EXPECT_EQ(areEqual(model.tensors(), before), !error.empty());
    return error;
  }
  std::string resumeError() {
    SmallModel model(3, adamw(), 7);
    return resumeError(model);
  }
  std::string file(const std::string& name) const { return folder_ / "step_20/" + name; }

  const TestFolder folder_;
  Manifest manifest_;
  std::vector<at::Tensor> saved_;
};

TEST_F(CheckpointTest, AModelGoesOnWithTheWeightsThatWereSaved) {
  SmallModel model(3, adamw(), 7);
  EXPECT_EQ(resumeError(model), "");
  EXPECT_TRUE(areEqual(model.tensors(), saved_));
  const Checkpoint checkpoint(folder_.path(), 20);
  EXPECT_EQ(checkpoint.manifest(), manifest_);
  checkpoint.verify();
}

TEST_F(CheckpointTest, APartOfTheBlocksIsReadByARankOfAnotherPartition) {
  SmallModel model(3, adamw(), 7);
  const std::vector<LiveBlock> last = {model.live()[2]};
  restore(Checkpoint(folder_.path(), 20).read(last), last);
  EXPECT_TRUE(model.block(2).weight.equal(saved_[8]));
  EXPECT_EQ(model.block(1).weight[0][0].item<float>(), 8);
}

TEST_F(CheckpointTest, AFlippedBitIsFoundInEveryPartOfAFile) {
  const std::string whole = readFile(file("block_1.pt"));
  for (std::size_t i = 0; i < whole.size(); i += whole.size() / 40) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1 << i % 8);
    writeFile(file("block_1.pt"), changed);
    EXPECT_THAT(resumeError(), HasSubstr("step_20/block_1.pt was damaged: its checksum is "));
  }
  writeFile(file("block_1.pt"), whole);
  EXPECT_EQ(resumeError(), "");
  EXPECT_THAT(errorOf([&] {
                writeFile(file("block_2.pt"), std::string(readFile(file("block_2.pt")).size(), 0));
                Checkpoint(folder_.path(), 20).verify();
              }),
              HasSubstr("step_20/block_2.pt was damaged"));
}

TEST_F(CheckpointTest, AFileThatWasCutOffIsNamed) {
  const std::string whole = readFile(file("block_2.pt"));
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, whole.size() - 1}) {
    writeFile(file("block_2.pt"), whole.substr(0, size));
    EXPECT_EQ(resumeError(), file("block_2.pt") + " has " + std::to_string(size) +
                                 " bytes and not " + std::to_string(whole.size()) +
                                 ": it was cut off; resume from another step");
  }
  writeFile(file("block_2.pt"), whole);
  const std::string manifest = readFile(file("manifest.json"));
  writeFile(file("manifest.json"), manifest.substr(0, manifest.size() / 2));
  EXPECT_THAT(resumeError(), HasSubstr("step_20/manifest.json is no manifest of a checkpoint: "));
}

TEST_F(CheckpointTest, AFileThatIsMissingIsNamed) {
  fs::remove(file("block_0.pt"));
  EXPECT_EQ(
      resumeError(),
      file("block_0.pt") + " is missing: the checkpoint is not whole; resume from another step");
  fs::remove(file("manifest.json"));
  EXPECT_EQ(resumeError(), folder_.path() + " has no checkpoint");
}

TEST_F(CheckpointTest, AMissingStepIsNamedWithThoseThatAreThere) {
  SmallModel model(3, adamw());
  writeCheckpoint(folder_.path(), 30, model.states());
  EXPECT_EQ(errorOf([&] { Checkpoint(folder_.path(), 25); }),
            folder_.path() + " has no checkpoint of step 25; it has those of 20, 30");
  EXPECT_EQ(errorOf([&] { Checkpoint(folder_ / "other", 25); }),
            folder_ / "other" + " has no checkpoint of step 25, and none of any other step");
  EXPECT_EQ(Checkpoint::newest(folder_.path()).manifest().step, 30);
  fs::rename(folder_ / "step_20", folder_ / "step_25");
  EXPECT_EQ(errorOf([&] { Checkpoint(folder_.path(), 25); }),
            folder_ / "step_25/manifest.json is that of step 20: the folder was renamed");
}

TEST_F(CheckpointTest, AnotherModelIsNamedWithBlockAndParameter) {
  SmallModel wider(3, adamw(), 7, false, 6);
  EXPECT_EQ(resumeError(wider),
            folder_ /
                "step_20 has another model: the parameter weight of block 0 (layer 0) is "
                "float32 [6, 3], and in the checkpoint float32 [4, 3]");
  SmallModel larger(5, adamw());
  EXPECT_EQ(resumeError(larger), folder_ / "step_20 has a model of 3 blocks, and this one has 5");
  EXPECT_EQ(errorOf([&] {
              Checkpoint(folder_.path(), 20).requireModel({"layer 0", "head", "layer 2"});
            }),
            folder_ / "step_20 has another model: block 1 (head) is called layer 1 there");
}

TEST_F(CheckpointTest, AnotherOptimizerIsNamed) {
  SmallModel model(3, sgd());
  EXPECT_EQ(resumeError(model),
            folder_ /
                "step_20 has the state of the optimizer AdamW, and this run has SGD; take "
                "that one, or load the weights alone");
}

TEST_F(CheckpointTest, OlderVersionsOfWeightsAreReadByNumber) {
  SmallModel model(1, sgd());
  std::vector<BlockState> states = model.states();
  for (const int version : {7, 3}) {
    states.push_back(versionState(0, "layer 0", version,
                                  {{"weight", at::full({4, 3}, static_cast<double>(version))}}));
  }
  writeCheckpoint(folder_.path(), 40, states);
  const Checkpoint checkpoint = Checkpoint::newest(folder_.path());
  EXPECT_THAT(checkpoint.versionsOf(0), ElementsAre(3, 7));
  EXPECT_EQ(checkpoint.readVersion(0, 7).tensors[0].second[0][0].item<float>(), 7);
  EXPECT_THAT(errorOf([&] { checkpoint.readVersion(0, 5); }),
              HasSubstr("step_40 has no block_0.version_5.pt"));
  const std::vector<BlockState> newest = checkpoint.read(model.live());
  EXPECT_EQ(newest[0].version, std::nullopt);
}

}  // namespace
}  // namespace pipetrace::testing
