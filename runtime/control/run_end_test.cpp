#include "runtime/control/run_end.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kSecond = kNsPerSecond;

TEST(ExitDelay, FollowsTheLongestJobBetweenItsLimits) {
  EXPECT_EQ(exitDelayAfter(0, 2 * kSecond), 2 * kSecond);
  EXPECT_EQ(exitDelayAfter(kSecond, 2 * kSecond), 2 * kSecond);
  EXPECT_EQ(exitDelayAfter(4 * kSecond, 2 * kSecond), 6 * kSecond);
  EXPECT_EQ(exitDelayAfter(40 * kSecond, 2 * kSecond), 60 * kSecond);
  EXPECT_EQ(exitDelayAfter(4000 * kSecond, 2 * kSecond), 60 * kSecond);
}

class RunEndTest : public ::testing::Test {
 protected:
  RunEndTest() {
    options_.onFailure = [](const FailureCause&, const std::string&) {
      throw std::runtime_error("nobody catches this");
    };
    options_.beforeExit = [](const std::string& text) { throw std::runtime_error(text); };
  }

  void failAt(Nanoseconds now) {
    FailureCause cause;
    cause.kind = CauseKind::kFailed;
    cause.rank = 0;
    cause.reason = "the loss is no number";
    end_.fail(cause, {}, now);
  }

  ControlOptions options_;
  RunEnd end_{options_};
};

using RunEndDeathTest = RunEndTest;

TEST_F(RunEndDeathTest, AThreadThatDoesNotLearnOfTheFailureIsEndedAfterTheDelayThatItsJobsTake) {
  failAt(10 * kSecond);
  end_.exitIfStuck(11 * kSecond, 0);
  end_.exitIfStuck(15 * kSecond, 4 * kSecond);
  EXPECT_EXIT(end_.exitIfStuck(12 * kSecond, 0), ::testing::ExitedWithCode(kStuckExitCode), "");
  EXPECT_EXIT(end_.exitIfStuck(16 * kSecond, 4 * kSecond),
              ::testing::ExitedWithCode(kStuckExitCode), "");
}

TEST_F(RunEndDeathTest, CodeThatNeverReturnsAfterTheFailureIsEndedToo) {
  failAt(10 * kSecond);
  EXPECT_THAT(end_.awaitFailure(), ::testing::HasSubstr("the loss is no number"));
  end_.exitIfStuck(100 * kSecond, 0);
  end_.whileEnding(100 * kSecond, [&] {
    end_.exitIfStuck(101 * kSecond, 0);
    EXPECT_EXIT(end_.exitIfStuck(102 * kSecond, 0), ::testing::ExitedWithCode(kStuckExitCode), "");
  });
  end_.exitIfStuck(200 * kSecond, 0);
  EXPECT_THROW(end_.whileEnding(200 * kSecond, [] { throw Error("from the user"); }), Error);
  end_.exitIfStuck(300 * kSecond, 0);
}

TEST_F(RunEndTest, AfterTheEndOfAllRanksAnErrorIsTheOneThatHappened) {
  end_.finish();
  EXPECT_EQ(end_.awaitFailure("the disk is full"), "the disk is full");
}

}  // namespace
}  // namespace pipetrace
