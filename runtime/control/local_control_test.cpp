#include "runtime/control/local_control.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Body = std::function<void(int rank, ControlChannel& control)>;

std::vector<std::string> runThreads(int ranks, const Body& body, Nanoseconds timeout = 0) {
  std::vector<ControlOptions> options(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    ControlOptions& one = options[static_cast<std::size_t>(rank)];
    one.rank = rank;
    one.worldSize = ranks;
    one.limits.stall.stepTimeout = timeout;
    one.limits.lostPeer = 100 * kNsPerMs;
  }
  auto channels = makeLocalControl(options);
  std::vector<std::string> errors(channels.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < channels.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(static_cast<int>(rank), *channels[rank]);
      } catch (const Error& e) {
        errors[rank] = e.what();
      }
      channels[rank].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void awaitFailure(ControlChannel& control) {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    control.check();
  }
}

TEST(LocalControl, EndsInOrderWhenAllRanksFinish) {
  const auto errors = runThreads(4, [](int, ControlChannel& control) {
    for (int action = 0; action < 1000; ++action) {
      control.begin(action);
      control.waitingFor(0, 1);
      control.waited();
      control.ended();
    }
    control.finish();
  });
  EXPECT_THAT(errors, ::testing::Each(""));
}

TEST(LocalControl, AFailureReachesAllRanksAlsoInFinish) {
  std::atomic<bool> finishes{false};
  const auto errors = runThreads(3, [&](int rank, ControlChannel& control) {
    if (rank == 0) {
      finishes = true;
      control.finish();
    }
    if (rank == 1) awaitFailure(control);
    while (!finishes) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until it is in finish()
    throw Error(control.fail("out of memory"));
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, StartsWith("rank 2 failed before its first action"));
    EXPECT_THAT(error, HasSubstr("out of memory"));
  }
  EXPECT_THAT(errors[0], HasSubstr("waiting for the others to finish"));
}

TEST(LocalControl, AStopEndsTheRunForAllRanksInAFewWords) {
  const auto errors = runThreads(3, [](int rank, ControlChannel& control) {
    if (rank == 1) control.stop("stopped by SIGINT");
    awaitFailure(control);
  });
  EXPECT_THAT(errors, ::testing::Each("stopped by SIGINT"));
}

TEST(LocalControl, ARankThatLeavesWithoutFinishingIsNamed) {
  const auto errors = runThreads(3, [](int rank, ControlChannel& control) {
    if (rank != 1) control.finish();
  });
  EXPECT_THAT(errors[0], StartsWith("rank 1 failed"));
  EXPECT_THAT(errors[2], StartsWith("rank 1 failed"));
}

TEST(LocalControl, ALostConnectionCountsWhenNothingElseComesToLight) {
  const auto errors = runThreads(2, [](int rank, ControlChannel& control) {
    if (rank == 0) throw Error(control.lostPeer("no such queue"));
    awaitFailure(control);
  });
  EXPECT_THAT(errors[1], StartsWith("rank 0 lost a connection"));
}

TEST(LocalControl, ARankThatWaitsForAFinishedOneIsNamedAfterTheStepTimeout) {
  const auto errors = runThreads(
      3,
      [](int rank, ControlChannel& control) {
        if (rank == 0) control.finish();
        control.begin(2);
        control.waitingFor(rank == 1 ? 0 : 1, 9);
        awaitFailure(control);
      },
      200 * kNsPerMs);
  for (const std::string& error : errors) {
    EXPECT_THAT(error, StartsWith("rank 1 waits for a message that nobody sends"));
    EXPECT_THAT(error, HasSubstr("waiting for message 9 from rank 0"));
  }
}

TEST(LocalControl, ARankWhoseDeviceHangsIsNamedAlsoIfItsThreadWaitsForAnother) {
  const auto errors = runThreads(
      2,
      [](int rank, ControlChannel& control) {
        if (rank == 1) control.followDevice([] { return QueuedActions{.oldest = 3, .count = 2}; });
        control.begin(7);
        control.waitingFor(1 - rank, 9);
        awaitFailure(control);
      },
      200 * kNsPerMs);
  for (const std::string& error : errors) {
    EXPECT_THAT(error, StartsWith("rank 1 "));
    EXPECT_THAT(error, HasSubstr("action 3"));
  }
}

TEST(LocalControl, ASlowRankThatEndsActionsIsNotBlamed) {
  const auto errors = runThreads(
      2,
      [](int rank, ControlChannel& control) {
        if (rank == 0) {
          control.begin(0);
          control.waitingFor(1, 0);
          std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        }
        for (int action = 0; rank == 1 && action < 15; ++action) {
          control.begin(action);
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          control.ended();
        }
        control.finish();
      },
      800 * kNsPerMs);
  EXPECT_THAT(errors, ::testing::Each(""));
}

// Another process stops this one, for twice as long as an action may take, and lets it go on.
TEST(LocalControlDeathTest, APauseOfTheWholeProcessIsNoStall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto train = [] {
    const pid_t own = getpid();
    if (fork() == 0) {
      usleep(200'000);
      kill(own, SIGSTOP);
      usleep(3'000'000);
      kill(own, SIGCONT);
      _exit(0);
    }
    const auto errors = runThreads(
        2,
        [](int, ControlChannel& control) {
          for (int action = 0; action < 10; ++action) {
            control.begin(action);
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            control.ended();
            control.check();
          }
          control.finish();
        },
        1500 * kNsPerMs);
    fprintf(stderr, "errors: %s%s\n", errors[0].c_str(), errors[1].c_str());
    _exit(0);
  };
  EXPECT_EXIT(train(), ::testing::ExitedWithCode(0), "^errors: \n$");
}

TEST(LocalControlDeathTest, AStalledThreadEndsTheProcessAfterItsLogsAreWritten) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto stall = [] {
    ControlOptions options;
    options.limits.stall.stepTimeout = 100 * kNsPerMs;
    options.exitDelay = 50 * kNsPerMs;
    options.beforeExit = [](const std::string& text) {
      fprintf(stderr, "flushed: %s\n", text.c_str());
    };
    const auto channels = makeLocalControl({options});
    channels[0]->begin(3);
    std::this_thread::sleep_for(std::chrono::seconds(60));
  };
  EXPECT_EXIT(stall(), ::testing::ExitedWithCode(kStuckExitCode),
              "flushed: rank 0 stalled: it ended no action for .* in action 3");
}

}  // namespace
}  // namespace pipetrace
