#include "runtime/engine/config/stage_maps.h"

#include <gmock/gmock.h>

#include "runtime/engine/config/testing/written_config.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class StageMapsTest : public ::testing::Test, public WrittenFile<readStageMaps> {
 protected:
  StageMapsTest() : WrittenFile("conf.json") {}
};

TEST_F(StageMapsTest, AReplicatedFirstStageIsRead) {
  const StageMaps maps = read(R"({
    "module_to_stage_map": [0, 1, 1],
    "stage_to_rank_map": {"0": [0, 1, 2], "1": [3]},
    "stage_to_depth_map": {"0": 1, "1": 0}
  })");
  EXPECT_THAT(maps.moduleToStage, ElementsAre(0, 1, 1));
  EXPECT_THAT(maps.stageRanks, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3)));
  EXPECT_THAT(maps.stageDepths, ElementsAre(1, 0));
  EXPECT_THAT(maps.modulesOfStages(), ElementsAre(1, 1)) << "without the loss";
  EXPECT_EQ(maps.numRanks(), 4);
  EXPECT_FALSE(maps.isPlain());
}

TEST_F(StageMapsTest, WithoutAMapOfRanksEachStageHasOne) {
  const StageMaps maps = read(R"({"module_to_stage_map": [0, 0, 1, 2, 2, 2]})");
  EXPECT_THAT(maps.stageRanks, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(maps.modulesOfStages(), ElementsAre(2, 1, 2));
  EXPECT_THAT(maps.stageDepths, IsEmpty());
  EXPECT_TRUE(maps.isPlain());
}

TEST_F(StageMapsTest, KeysWithoutQuotesAreReadAsPeopleWriteThem) {
  EXPECT_TRUE(read("{\"module_to_stage_map\": [0, 1, 1], \"stage_to_rank_map\": {0: [0], 1: [1]}}")
                  .isPlain());
}

TEST_F(StageMapsTest, StagesAndRanksThatAreLeftOutOrThereTwiceAreNamedWithTheirLine) {
  const std::string modules = "{\"module_to_stage_map\": [0, 1, 1],\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {modules + "\"stage_to_rank_map\": {\"0\": [0],\n \"1\": [2]}}",
       ":2: stage_to_rank_map leaves out rank 1, but has rank 2"},
      {modules + "\"stage_to_rank_map\": {\"0\": [0, 1],\n \"1\": [1]}}",
       ":3: rank 1 is there twice, on stage 0 and on stage 1"},
      {modules + "\"stage_to_rank_map\": {\"1\": [0]}}",
       ":2: stage_to_rank_map leaves out stage 0"},
      {modules + "\"stage_to_rank_map\": {\"0\": [0], \"1\": [1], \"2\": [2]}}",
       ":2: stage_to_rank_map has stage 2, but module_to_stage_map has the stages 0 to 1"},
      {modules + "\"stage_to_rank_map\": {\"0\": [0], \"1\": []}}", ":2: stage 1 has no rank"},
      {modules + "\"stage_to_rank_map\": [[0], [1]]}",
       ":2: stage_to_rank_map is a map from stages"},
      {modules + "\"stage_to_depth_map\": {\"0\": 1}}",
       ":2: stage_to_depth_map leaves out stage 1"},
      {modules + "\"stage_to_depth_map\": {\"0\": -1, \"1\": 0}}",
       ":2: -1 is no number of forwards"},
      {modules + "\"stage_to_rank_mop\": {}}",
       ":2: unknown key stage_to_rank_mop; did you mean stage_to_rank_map?"},
      {modules + "\"module_to_stage_map\": [0, 0]}", ":2: module_to_stage_map is there twice"},
      {"{\"module_to_stage_map\": [0, 2, 2]}", ":1: module_to_stage_map has module 1 on stage 2"},
      {"{\"module_to_stage_map\": [0, 1, 0]}", ":1: module_to_stage_map has module 2 on stage 0"},
      {"{\"module_to_stage_map\": [1, 1]}",
       ":1: module_to_stage_map has module 0 on stage 1; stages count up from 0"},
      {"", "conf.json:1: it has no keys and values, such as \"module_to_stage_map\": [0, 1, 1]"},
      {"[0, 1, 1]", "conf.json:1: it has no keys and values, such as \"module_to_stage_map\": "},
      {"{\"module_to_stage_map\": [0, 0, 1]}", "has nothing but the loss on stage 1"},
      {"{\"module_to_stage_map\": [0]}", ":1: module_to_stage_map needs a stage for each module"},
      {"{\"module_to_stage_map\": 3}", ":1: this is no list of stages"},
      {"{\"module_to_stage_map\": [0, x]}", ":1: x is no stage"},
      {"{\n}", "conf.json:1: it has no module_to_stage_map"}};
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(errorOf(text), HasSubstr(message)) << text;
    EXPECT_THAT(errorOf(text), StartsWith(path() + ":")) << text;
  }
}

}  // namespace
}  // namespace pipetrace
