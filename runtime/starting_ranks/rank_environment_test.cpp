#include "runtime/starting_ranks/rank_environment.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "runtime/testing/shell_ranks.h"

namespace pipetrace {
namespace {

TEST(RankEnvironmentTest, GpusThatAreNamedHideTheOthersOfTheHost) {
  RecordedLog log;
  setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  LaunchOptions options = shellRanks(log, 2, "echo $CUDA_VISIBLE_DEVICES of $LOCAL_RANK");
  EXPECT_EQ(launch(options).exitCode, 0);
  EXPECT_EQ(log.text(1), "7 of 1\n") << "none is named";
  options.hosts.ranks = {{"localhost", 3}, {"localhost", 1}};
  EXPECT_EQ(launch(options).exitCode, 0);
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(log.text(0), "3,1 of 0\n");
  EXPECT_EQ(log.text(1), "3,1 of 1\n");
}

TEST(RankEnvironmentTest, ARestartIsCountedAndItsLogsGoOn) {
  RecordedLog log;
  setenv("TORCHELASTIC_RESTART_COUNT", "9", 1);
  LaunchOptions options = shellRanks(log, 1, "echo start ${TORCHELASTIC_RESTART_COUNT:-first}");
  for (const int restart : {1, 0, 1, 2}) {
    options.restart = restart;
    EXPECT_EQ(launch(options).exitCode, 0);
  }
  unsetenv("TORCHELASTIC_RESTART_COUNT");
  EXPECT_EQ(log.text(), "start first\nstart 1\nstart 2\n") << "a first start removes old logs";
}

}  // namespace
}  // namespace pipetrace
