#include "runtime/engine/auto_partition.h"

#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <torch/optim/sgd.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "runtime/engine/testing/resumed_case.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/waiting_layers.h"
#include "trace/testing/file_text.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::errorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScratchFolder;
using ::testing::SizeIs;

/// Trains a model whose second layer takes as long as all others.
class BestPartitionTest : public ::testing::Test {
 protected:
  static OptimizerMaker optimizer() {
    return [](const NamedParameters& parameters) {
      return std::make_unique<torch::optim::SGD>(tensorsOf(parameters), 0.01);
    };
  }
  static DataSet data() {
    at::manual_seed(1);
    return dataSetOf({{"inputs", at::randn({8, 4})}, {"targets", at::randn({8, 4})}}, 8);
  }
  static Strategy strategy() { return {.plan = {.ranks = 2, .microBatches = 4}}; }

  EngineOptions options() {
    return {.print =
                [this](const std::string& line) {
                  const std::lock_guard lock(mutex_);
                  lines_.push_back(line);
                },
            .say = [](const std::string&) {}};
  }
  BestPartitionOptions how(std::int64_t limit = 0) const {
    return {.memoryLimit = limit, .file = folder_.path("p.json"), .measured = {.rounds = 5}};
  }
  void use(Strategy& of, EngineOptions& with, const BestPartitionOptions& asked) const {
    useBestPartition(model_, optimizer(), of, with, data(), asked);
  }
  std::string errorWith(const BestPartitionOptions& asked) {
    return errorOf([&] {
      Strategy of = strategy();
      EngineOptions with = options();
      use(of, with, asked);
    });
  }

  const Model model_ = testing::waitingModel({3, 12, 3, 3, 3});
  const ScratchFolder folder_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(BestPartitionTest, StagesAreCutByWhatTheirBlocksTake) {
  Strategy of = strategy();
  EngineOptions with = options();
  use(of, with, how());
  EXPECT_THAT(of.partition.blocks, ElementsAre(2, 3)) << "15 ms and 9 ms; evenly it is 18 and 6";
  EXPECT_THAT(of.partition.recomputeRatio, ElementsAre(0, 0));
  EXPECT_EQ(test::fileText(how().file),
            "{\"partition\": [2, 3], \"recompute_ratio\": [0, 0], \"made_by\": "
            "\"--auto-partition\"}\n");
  EXPECT_EQ(readPartition(how().file).blocks, of.partition.blocks);
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], AllOf(HasSubstr("2, 3 blocks; a step would take "),
                               HasSubstr("with the even partition"), HasSubstr("measured in "),
                               HasSubstr("written to ")));
  Engine engine(model_, optimizer(), {}, of, with);
  EXPECT_THAT(engine.fit(data(), {.logFreq = 0}).losses, SizeIs(1));
}

TEST_F(BestPartitionTest, AllProcessesHaveThePartitionOfRankZero) {
  const LocalPort port;
  std::vector<Partition> partitions(2);
  std::vector<std::vector<double>> losses(2);
  const auto errors = testing::runRanks(2, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    Strategy of = strategy();
    EngineOptions with = options();
    with.env = testing::envOfRank(rank, 2, port.number());
    BestPartitionOptions asked = how();
    if (rank == 1) asked.file = "/nowhere/p.json";  // which it does not write
    use(of, with, asked);
    partitions[r] = of.partition;
    Engine engine(model_, optimizer(), {}, of, with);
    losses[r] = engine.fit(data(), {.logFreq = 0}).losses;
    engine.finish();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  EXPECT_THAT(partitions[0].blocks, ElementsAre(2, 3));
  EXPECT_EQ(partitions[0].blocks, partitions[1].blocks);
  EXPECT_THAT(losses[0], SizeIs(1));
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_THAT(lines_, SizeIs(1)) << "one rank measures";
}

TEST_F(BestPartitionTest, AnErrorOfRankZeroIsThatOfAll) {
  const LocalPort port;
  const auto errors = testing::runRanks(2, [&](int rank) {
    Strategy of = strategy();
    EngineOptions with = options();
    with.env = testing::envOfRank(rank, 2, port.number());
    BestPartitionOptions asked = how();
    asked.file = "/nowhere/p.json";
    use(of, with, asked);
  });
  EXPECT_THAT(errors, Each(HasSubstr("/nowhere/p.json")));
}

TEST_F(BestPartitionTest, OnlyAFileThatWasWrittenSoIsReplaced) {
  Strategy of = strategy();
  EngineOptions with = options();
  use(of, with, how());
  use(of, with, how());
  std::ofstream(how().file) << "{\"partition\": [1, 4]}";
  EXPECT_THAT(errorWith(how()),
              AllOf(HasSubstr(how().file), HasSubstr("was not written by --auto-partition")));
  EXPECT_EQ(test::fileText(how().file), "{\"partition\": [1, 4]}");
  std::ofstream(how().file) << "my notes";
  EXPECT_THAT(errorWith(how()), HasSubstr("was not written by --auto-partition"));
  EXPECT_THAT(errorWith({.file = folder_.path("")}), HasSubstr("it is a folder"));
  const std::string inNoFolder = folder_.path("none/p.json");
  EXPECT_THAT(errorWith({.file = inNoFolder}),
              HasSubstr(inNoFolder + ": there is no folder " + folder_.path("none")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("none")));
  EXPECT_THAT(lines_, SizeIs(2)) << "nothing was measured for the others";
}

TEST_F(BestPartitionTest, WithinALimitBlocksRunAgainOrItIsSaidWhatIsMissing) {
  Strategy of = strategy();
  EngineOptions with = options();
  const MeasuredPartition free =
      measuredPartition(model_, optimizer(), of, with, data(), {.measured = {.rounds = 5}});
  const auto& peaks = free.found.best.peakMemory;
  const std::int64_t most = std::max(peaks.at(0), peaks.at(1));
  const MeasuredPartition tight = measuredPartition(
      model_, optimizer(), of, with, data(), {.memoryLimit = most - 1, .measured = {.rounds = 5}});
  EXPECT_THAT(tight.found.best.peakMemory, Each(::testing::Lt(most)));
  EXPECT_THAT(errorWith(how(1)),
              AllOf(HasSubstr("no partition fits into 0.0 MB a rank"), HasSubstr("too much")));
}

TEST_F(BestPartitionTest, AModelThatCannotBeMeasuredIsRefused) {
  EngineOptions with = options();
  const auto errorFor = [&](const Strategy& of) {
    return errorOf([&] { measuredPartition(model_, optimizer(), of, with, data(), {}); });
  };
  EXPECT_THAT(errorFor({.plan = {.schedule = "ForwardOnly", .ranks = 2, .microBatches = 4}}),
              HasSubstr("has no backward pass"));
  EXPECT_THAT(errorFor({.plan = {.schedule = "auto", .ranks = 2, .microBatches = 4}}),
              HasSubstr("auto is made for the costs of its stages"));
  EXPECT_THAT(errorFor({.plan = {.ranks = 6, .microBatches = 6}}),
              HasSubstr("5 blocks cannot be cut into 6 stages"));
  with.device = "cuda";
  EXPECT_THAT(errorFor(strategy()), HasSubstr("says nothing of cuda"));
}

}  // namespace
}  // namespace pipetrace
