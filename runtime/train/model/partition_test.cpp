#include "runtime/train/model/partition.h"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::errorOf;
using ::testing::HasSubstr;

std::string fileWith(const testing::ScratchFolder& folder, const std::string& text) {
  const std::string path = folder.path("partition.json");
  std::ofstream(path) << text;
  return path;
}

TEST(Partition, BlocksAreSpreadEvenlyTheLargerStagesFirst) {
  EXPECT_THAT(evenPartition(7, 3).blocks, ElementsAre(3, 2, 2));
  EXPECT_THAT(evenPartition(3, 3).blocks, ElementsAre(1, 1, 1));
  EXPECT_EQ(errorOf([] { evenPartition(1, 2); }),
            "a model of 1 block cannot be cut into 2 stages; use fewer stages or more blocks");
}

TEST(Partition, AFileSaysHowManyBlocksAndHowManyOfThemRunAgain) {
  const testing::ScratchFolder folder;
  const Partition partition = readPartition(
      fileWith(folder, R"({"partition":[12,13,13,11],"recompute_ratio":[0.3,0,0,1]})"));
  EXPECT_THAT(partition.blocks, ElementsAre(12, 13, 13, 11));
  EXPECT_EQ(partition.recomputed(0), 3);  // int(3.6)
  EXPECT_EQ(partition.recomputed(1), 0);
  EXPECT_EQ(partition.recomputed(3), 11);
  EXPECT_EQ(readPartition(fileWith(folder, R"({"partition":[2]})")).recomputed(0), 0);
}

TEST(Partition, AFileMaySayWhoWroteIt) {
  const testing::ScratchFolder folder;
  const std::string path = fileWith(folder, R"({"partition":[2,1],"made_by":"me"})");
  EXPECT_THAT(readPartition(path).blocks, ElementsAre(2, 1));
  EXPECT_TRUE(isPartitionMadeBy(path, "me"));
  EXPECT_FALSE(isPartitionMadeBy(path, "you"));
  EXPECT_FALSE(isPartitionMadeBy(fileWith(folder, R"({"partition":[2]})"), "me"));
  EXPECT_THAT(errorOf([&] { isPartitionMadeBy(fileWith(folder, "notes"), "me"); }),
              HasSubstr("is no JSON"));
}

TEST(Partition, AnOptionIsTheTextOfAPartitionOrTheNameOfAFile) {
  const Partition partition =
      partitionOption(R"({"partition": [2, 1], "recompute_ratio": [0.5, 0]})");
  EXPECT_EQ(partition.blocks, (std::vector<int>{2, 1}));
  EXPECT_EQ(partition.recomputed(0), 1);
  EXPECT_THAT(
      [] { partitionOption("{\"partition\": [0]}"); },
      ::testing::ThrowsMessage<Error>(::testing::HasSubstr("the partition: \"partition\"")));
  EXPECT_THAT(errorOf([] { partitionOption("{\"partition\": [0]}"); }),
              HasSubstr("the partition: \"partition\""));
  EXPECT_THAT(errorOf([] { partitionOption("{\"partition\""); }),
              HasSubstr("the partition is no JSON"));
  EXPECT_THAT(errorOf([] { partitionOption("/no/such.json"); }), HasSubstr("/no/such.json"));
}

TEST(Partition, AFileThatIsNoneIsRefusedWithItsNameAndTheReason) {
  const testing::ScratchFolder folder;
  const auto refused = [&](const std::string& text) {
    return errorOf([&] { readPartition(fileWith(folder, text)); });
  };
  EXPECT_THAT(refused("{"), AllOf(HasSubstr("partition.json"), HasSubstr("is no JSON")));
  EXPECT_THAT(refused("[1]"), HasSubstr("no JSON object"));
  EXPECT_THAT(refused("{}"), HasSubstr("has no \"partition\""));
  EXPECT_THAT(refused(R"({"partition":3})"), HasSubstr("\"partition\" is no list"));
  EXPECT_THAT(refused(R"({"partition":[1,0]})"), HasSubstr("has 0, which is no number of blocks"));
  EXPECT_THAT(refused(R"({"partition":[1.5]})"), HasSubstr("1.5, which is no number of blocks"));
  EXPECT_THAT(refused(R"({"partition":[1e30]})"), HasSubstr("which is no number of blocks"));
  EXPECT_THAT(refused(R"({"partition":[1],"recompute_ratio":[2]})"),
              HasSubstr("2, which is no share from 0 to 1"));
  EXPECT_THAT(refused(R"({"partition":[1,1],"recompute_ratio":[1]})"),
              HasSubstr("\"recompute_ratio\" is of 1 stage, but \"partition\" of 2"));
  EXPECT_THAT(refused(R"({"partitions":[1]})"), HasSubstr("unknown key \"partitions\""));
  EXPECT_THAT(errorOf([&] { readPartition(folder.path("none.json")); }),
              AllOf(HasSubstr("cannot read the partition"), HasSubstr("No such file")));
  EXPECT_THAT(errorOf([&] { readPartition(folder.path()); }), HasSubstr("it is a folder"));
}

}  // namespace
}  // namespace pipetrace
