#include "runtime/control/verdict/action_progress.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(ActionProgress, ARankIsInTheOldestActionThatItsDeviceHasNotEnded) {
  ActionProgress progress;
  for (int action = 0; action < 5; ++action) {
    progress.begin(action);
    progress.ended();
  }
  progress.begin(5);
  progress.waitingFor(1, 9);
  QueuedActions queued{.oldest = 2, .count = 3};
  progress.follow([&] { return queued; });
  ActionStatus status = progress.look();
  EXPECT_EQ(status.action, 2);
  EXPECT_TRUE(status.inside);
  EXPECT_FALSE(status.isWaiting());
  EXPECT_EQ(status.ended, 2U);

  queued = {};
  status = progress.look();
  EXPECT_EQ(status.action, 5);
  EXPECT_EQ(status.awaited.peer, 1);
  EXPECT_EQ(status.ended, 5U);

  queued = {.oldest = 2, .count = 3};
  progress.follow({});
  EXPECT_EQ(progress.look().action, 5);
}

}  // namespace
}  // namespace pipetrace
