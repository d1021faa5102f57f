#include "runtime/control/verdict/idle_watch.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

/// Looks once a second at a rank that begins an action, waits in it, works, and ends it.
TEST(IdleWatchTest, TheLongestJobIsOneThatHasEndedAndWaitedForNobody) {
  ActionProgress progress;
  IdleWatch watch(0);
  Nanoseconds now = 0;
  const auto looks = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) watch.look(progress, now += kNsPerSecond);
  };
  progress.begin(0);
  progress.waitingFor(1, 7);
  looks(20);
  progress.waited();
  looks(5);
  EXPECT_EQ(watch.longestJob(), 0) << "it has not ended";
  progress.ended();
  looks(1);
  EXPECT_EQ(watch.longestJob(), 5 * kNsPerSecond);
  looks(30);  // between jobs
  progress.begin(1);
  looks(3);
  progress.ended();
  looks(1);
  EXPECT_EQ(watch.longestJob(), 5 * kNsPerSecond);
}

/// A rank that waits, looked at once a second. Bytes count after it has ended no action for 3 s.
class SlowMessage : public ::testing::Test {
 protected:
  SlowMessage() {
    watch_.countBytes(
        [this] {
          ++questions_;
          return bytes_;
        },
        3 * kNsPerSecond);
    progress_.begin(0);
    progress_.waitingFor(1, 7);
  }

  /// The idle time after a number of seconds, in each of which `bytes` come.
  Nanoseconds idleAfter(int seconds, std::uint64_t bytes) {
    Nanoseconds idle = 0;
    for (int i = 0; i < seconds; ++i) {
      bytes_ += bytes;
      idle = watch_.look(progress_, now_ += kNsPerSecond).idle;
    }
    return idle;
  }

  ActionProgress progress_;
  IdleWatch watch_{0};
  Nanoseconds now_ = 0;
  std::uint64_t bytes_ = 1000;
  int questions_ = 0;
};

TEST_F(SlowMessage, WhileBytesComeItsRankDoesNotStandStill) { EXPECT_EQ(idleAfter(60, 1), 0); }

TEST_F(SlowMessage, ARankStandsStillSinceTheLastByteCame) {
  idleAfter(10, 100);
  EXPECT_EQ(idleAfter(20, 0), 20 * kNsPerSecond);
  EXPECT_EQ(idleAfter(1, 1), 0);
}

TEST_F(SlowMessage, BytesThatCameBeforeTheWaitAreNoReasonToWaitLonger) {
  EXPECT_EQ(idleAfter(2, 1000), 2 * kNsPerSecond);
  EXPECT_EQ(idleAfter(10, 0), 12 * kNsPerSecond);
}

TEST_F(SlowMessage, ARankThatSendsWhileItWaitsForNobodyDoesNotStandStillEither) {
  progress_.waited();
  EXPECT_EQ(idleAfter(20, 1), 0);
}

TEST_F(SlowMessage, NobodyLooksUpBytesDuringShortActions) {
  for (int action = 0; action < 10; ++action) {
    idleAfter(2, 1);
    progress_.ended();
  }
  EXPECT_EQ(questions_, 0);
}

TEST_F(SlowMessage, BytesOfAnEarlierWaitDoNotCountForALaterOne) {
  idleAfter(10, 100);
  progress_.ended();
  bytes_ += 5000;
  progress_.begin(1);
  progress_.waitingFor(1, 8);
  EXPECT_EQ(idleAfter(21, 0), 20 * kNsPerSecond) << "since the first look at the new action";
}

}  // namespace
}  // namespace pipetrace
