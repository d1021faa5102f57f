#include "schedule/partition/partition_file.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string errorIn(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class PartitionFile : public ::testing::Test {
 protected:
  PartitionFile() { std::filesystem::create_directories(folder_); }
  ~PartitionFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string fileWith(const std::string& text) const {
    std::ofstream(path("partition.json")) << text;
    return path("partition.json");
  }

 private:
  const std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                        ("partition_file_test_" + std::to_string(::getpid()));
};

TEST(Partition, BlocksAreSpreadEvenlyTheLargerStagesFirst) {
  EXPECT_THAT(evenPartition(7, 3).blocks, ElementsAre(3, 2, 2));
  EXPECT_THAT(evenPartition(3, 3).blocks, ElementsAre(1, 1, 1));
  EXPECT_EQ(errorIn([] { evenPartition(1, 2); }),
            "a model of 1 block cannot be cut into 2 stages; use fewer stages or more blocks");
}

TEST_F(PartitionFile, AFileSaysHowManyBlocksAndHowManyOfThemRunAgain) {
  const Partition partition =
      readPartition(fileWith(R"({"partition":[12,13,13,11],"recompute_ratio":[0.3,0,0,1]})"));
  EXPECT_THAT(partition.blocks, ElementsAre(12, 13, 13, 11));
  EXPECT_EQ(partition.recomputed(0), 3);  // int(3.6)
  EXPECT_EQ(partition.recomputed(1), 0);
  EXPECT_EQ(partition.recomputed(3), 11);
  EXPECT_EQ(readPartition(fileWith(R"({"partition":[2]})")).recomputed(0), 0);
}

TEST_F(PartitionFile, AFileMaySayWhoWroteIt) {
  const std::string path = fileWith(R"({"partition":[2,1],"made_by":"me"})");
  EXPECT_THAT(readPartition(path).blocks, ElementsAre(2, 1));
  EXPECT_TRUE(isPartitionMadeBy(path, "me"));
  EXPECT_FALSE(isPartitionMadeBy(path, "you"));
  EXPECT_FALSE(isPartitionMadeBy(fileWith(R"({"partition":[2]})"), "me"));
  EXPECT_THAT(errorIn([&] { isPartitionMadeBy(fileWith("notes"), "me"); }),
              HasSubstr("is no JSON"));
}

TEST_F(PartitionFile, AnOptionIsTheTextOfAPartitionOrTheNameOfAFile) {
  const Partition partition =
      partitionOption(R"({"partition": [2, 1], "recompute_ratio": [0.5, 0]})");
  EXPECT_EQ(partition.blocks, (std::vector<int>{2, 1}));
  EXPECT_EQ(partition.recomputed(0), 1);
  EXPECT_THAT(
      [] { partitionOption("{\"partition\": [0]}"); },
      ::testing::ThrowsMessage<Error>(::testing::HasSubstr("the partition: \"partition\"")));
  EXPECT_THAT(errorIn([] { partitionOption("{\"partition\": [0]}"); }),
              HasSubstr("the partition: \"partition\""));
  EXPECT_THAT(errorIn([] { partitionOption("{\"partition\""); }),
              HasSubstr("the partition is no JSON"));
  EXPECT_THAT(errorIn([] { partitionOption("/no/such.json"); }), HasSubstr("/no/such.json"));
}

TEST(Partition, AnOptionMayBeTheBlocksOfTheStagesAlone) {
  EXPECT_THAT(partitionOption("12,13,13,11").blocks, ElementsAre(12, 13, 13, 11));
  EXPECT_THAT(partitionOption("7").blocks, ElementsAre(7));
  EXPECT_THAT(errorIn([] { partitionOption("3,,1"); }), HasSubstr("\"3,,1\" is no list of blocks"));
  EXPECT_THAT(errorIn([] { partitionOption("3,0"); }), HasSubstr("a stage without blocks"));
  EXPECT_THAT(errorIn([] { partitionOption("3,9999999"); }), HasSubstr("is no list of blocks"));
  EXPECT_THAT(errorIn([] { partitionOption("./3,1"); }), HasSubstr("cannot read the partition"));
}

TEST(Partition, BecomesTheNumbersOfBlocksThatRunAgain) {
  const BlockPartition counts = blockPartitionOf({.blocks = {10, 4}, .recomputeRatio = {0.25, 1}});
  EXPECT_THAT(counts.recomputed, ElementsAre(2, 4));
  EXPECT_TRUE(blockPartitionOf({.blocks = {10, 4}, .recomputeRatio = {}}).recomputed.empty());
  EXPECT_EQ(blockCountsText(counts.recomputed), "2,4");
  EXPECT_THAT(blockCountsFrom("2,0"), ElementsAre(2, 0));
}

TEST_F(PartitionFile, AFileThatIsNoneIsRefusedWithItsNameAndTheReason) {
  const auto refused = [&](const std::string& text) {
    return errorIn([&] { readPartition(fileWith(text)); });
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
  EXPECT_THAT(errorIn([&] { readPartition(path("none.json")); }),
              AllOf(HasSubstr("cannot read the partition"), HasSubstr("No such file")));
  EXPECT_THAT(errorIn([&] { readPartition(path("")); }), HasSubstr("it is a folder"));
}

}  // namespace
}  // namespace pipetrace
