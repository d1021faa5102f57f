#include "trace/log/rank_info_fields.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

namespace pipetrace {
namespace {

using testing::ElementsAreArray;

TEST(RankInfoFieldsTest, TheListHasEveryFieldOnceInTheOrderOfTheStruct) {
  const RankInfo info;
  std::vector<const void*> visited;
  visitRankFields([&](auto, auto member) { visited.push_back(&(info.*member)); });
  // Does not compile after a field is added to RankInfo: visitRankFields() needs it, too.
  const auto& [rank, worldSize, host, device, numStages, numChunks, numMicroBatches, ranksOfStage,
               pipelineRanks, blocks, recomputedBlocks, firstStep, schedule, dataParallelIndex,
               tensorParallelIndex, clock, lines, flopsPerStep, tokensPerStep, clockReadings,
               partBegins, groups, eventsWithoutTime, overruns, overrunTime, clockApart, jobsFound,
               jobsByOrder, jobsInPairs, runsUnplaced, unplacedTime, runs, isRecording, isSelected,
               hasEnd, written, dropped, errors, misuses, failedWrites, lateStarts, ownCost,
               logThreadCost] = info;
  const std::vector<const void*> all = {&rank,
                                        &worldSize,
                                        &host,
                                        &device,
                                        &numStages,
                                        &numChunks,
                                        &numMicroBatches,
                                        &ranksOfStage,
                                        &pipelineRanks,
                                        &blocks,
                                        &recomputedBlocks,
                                        &firstStep,
                                        &schedule,
                                        &dataParallelIndex,
                                        &tensorParallelIndex,
                                        &clock,
                                        &lines,
                                        &flopsPerStep,
                                        &tokensPerStep,
                                        &clockReadings,
                                        &partBegins,
                                        &groups,
                                        &eventsWithoutTime,
                                        &overruns,
                                        &overrunTime,
                                        &clockApart,
                                        &jobsFound,
                                        &jobsByOrder,
                                        &jobsInPairs,
                                        &runsUnplaced,
                                        &unplacedTime,
                                        &runs,
                                        &isRecording,
                                        &isSelected,
                                        &hasEnd,
                                        &written,
                                        &dropped,
                                        &errors,
                                        &misuses,
                                        &failedWrites,
                                        &lateStarts,
                                        &ownCost,
                                        &logThreadCost};
  EXPECT_THAT(visited, ElementsAreArray(all));
}

TEST(RankInfoFieldsTest, FieldsThatFilesKeepHaveDifferentKeys) {
  std::map<std::string_view, int> count;
  visitRankFields([&]<typename Field>(Field, auto) {
    if (Field::kPlace != RankFieldPlace::kFound) ++count[Field::kKey];
  });
  EXPECT_FALSE(count.contains(""));
  for (const auto& [key, fields] : count) EXPECT_EQ(fields, 1) << key;
}

}  // namespace
}  // namespace pipetrace
