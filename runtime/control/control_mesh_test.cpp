#include "runtime/control/control_mesh.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>

#include "runtime/control/start/connect_ranks.h"
#include "runtime/control/steady_time.h"
#include "runtime/control/testing/memory_key_value.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

using Body = std::function<void(int rank, ControlChannel& control)>;
using Change = std::function<void(ControlOptions& options)>;

// Each rank on a thread, connected by TCP; their errors, "" for none.
std::vector<std::string> runMesh(int ranks, const Body& body, const Change& change = {},
                                 const MeshOptions& mesh = {}) {
  testing::MemoryKeyValue store;
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        ControlOptions options;
        options.rank = rank;
        options.worldSize = ranks;
        if (change) change(options);
        RunStart start(store, rank, ranks, 60 * kNsPerSecond);
        const auto control = connectControlMesh(std::move(options), mesh, start);
        body(rank, *control);
      } catch (const Error& e) {
        errors[static_cast<std::size_t>(rank)] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void sleepMs(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Acts as a rank that works until the run has failed.
void workUntilFailure(ControlChannel& control) {
  for (std::int64_t action = 0;; ++action) {
    control.begin(action);
    sleepMs(1);
    control.ended();
    control.check();
  }
}

TEST(ControlMesh, EndsInOrderWhenAllRanksFinish) {
  for (const int ranks : {1, 2, 5}) {
    const auto errors = runMesh(ranks, [](int rank, ControlChannel& control) {
      for (int action = 0; action < 20 * (rank + 1); ++action) {
        control.begin(action);
        control.ended();
      }
      sleepMs(20 * rank);
      control.finish();
    });
    EXPECT_THAT(errors, ::testing::Each(""));
  }
}

TEST(ControlMesh, AStopEndsTheRunForAllRanksAtOnce) {
  const Nanoseconds start = steadyTime();
  const auto errors = runMesh(3, [](int rank, ControlChannel& control) {
    if (rank == 1) control.stop("stopped by SIGTERM");
    workUntilFailure(control);
  });
  EXPECT_LT(steadyTime() - start, 2 * kNsPerSecond);
  EXPECT_EQ(errors[1], "stopped by SIGTERM");
  EXPECT_EQ(errors[0], "rank 1 was stopped by SIGTERM");
  EXPECT_EQ(errors[2], "rank 1 was stopped by SIGTERM");
}

TEST(ControlMesh, AFailureReachesAllRanksWithItsText) {
  std::array<Nanoseconds, 4> noticed{};
  Nanoseconds failed = 0;
  const auto errors = runMesh(4, [&](int rank, ControlChannel& control) {
    if (rank != 2) {
      try {
        workUntilFailure(control);
      } catch (const Error&) {
        noticed[static_cast<std::size_t>(rank)] = steadyTime();
        throw;
      }
    }
    control.begin(7);
    sleepMs(150);
    failed = steadyTime();
    throw Error(control.fail("out of memory"));
  });
  for (int rank = 0; rank < 4; ++rank) {
    const std::string& error = errors[static_cast<std::size_t>(rank)];
    EXPECT_THAT(error, HasSubstr("rank 2 failed in action 7 (0 actions ended): out of memory"));
    if (rank == 2) continue;
    EXPECT_THAT(error, HasSubstr("this rank, " + std::to_string(rank) + ", was "));
    EXPECT_LT(noticed[static_cast<std::size_t>(rank)] - failed, 2 * kNsPerSecond);
  }
}

TEST(ControlMesh, ARankThatLeavesWithoutFinishingIsNamedByTheOthersInFinish) {
  const auto errors = runMesh(3, [](int rank, ControlChannel& control) {
    if (rank != 1) control.finish();
    sleepMs(100);
  });
  EXPECT_EQ(errors[1], "");
  EXPECT_THAT(errors[0], HasSubstr("rank 1 failed before its first action"));
  EXPECT_THAT(errors[2], HasSubstr("rank 1 failed before its first action"));
  EXPECT_THAT(errors[2], HasSubstr("this rank, 2, was after its last action"));
}

TEST(ControlMesh, ALostConnectionGivesWayToTheFailureFromWhichItFollows) {
  const auto errors = runMesh(3, [](int rank, ControlChannel& control) {
    if (rank == 0) throw Error(control.lostPeer("connection reset"));
    sleepMs(200);
    if (rank == 1) throw Error(control.fail("bad loss"));
    workUntilFailure(control);
  });
  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("rank 1 failed"));
}

TEST(ControlMesh, TheRankForWhichAllWaitIsNamedAfterTheStepTimeout) {
  const auto errors = runMesh(
      3,
      [](int rank, ControlChannel& control) {
        control.begin(4);
        if (rank != 1) control.waitingFor(rank == 0 ? 2 : 1, 5);
        while (true) {
          sleepMs(5);
          control.check();
        }
      },
      [](ControlOptions& options) {
        options.limits.stall.stepTimeout = 400 * kNsPerMs;
        options.limits.stall.silence = 30 * kNsPerSecond;  // the machine may be busy
      });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, ::testing::StartsWith("rank 1 stalled: it ended no action for"));
  }
  EXPECT_THAT(errors[0], HasSubstr("waiting for message 5 from rank 2"));
}

TEST(ControlMesh, TheStepTimeoutCountsFromTheLastByteOfAMessageUnderWay) {
  const Nanoseconds lastByte = steadyTime() + 2 * kNsPerSecond;
  const auto errors = runMesh(
      2,
      [](int rank, ControlChannel& control) {
        control.begin(4);
        control.waitingFor(1 - rank, 5);
        while (true) {
          sleepMs(5);
          control.check();
        }
      },
      [&](ControlOptions& options) {
        options.limits.stall.stepTimeout = 400 * kNsPerMs;
        options.bytesMoved = [&] {
          return static_cast<std::uint64_t>(std::min(steadyTime(), lastByte));
        };
      });
  EXPECT_GE(steadyTime(), lastByte + 400 * kNsPerMs);
  for (const std::string& error : errors) {
    EXPECT_THAT(error, ::testing::StartsWith("ranks wait for each other for "));
  }
}

TEST(ControlMesh, TellsOnceWhenTheRunFails) {
  std::array<int, 3> calls{};
  runMesh(
      3,
      [](int rank, ControlChannel& control) {
        if (rank == 0) throw Error(control.fail("bad loss"));
        workUntilFailure(control);
      },
      [&](ControlOptions& options) {
        options.onFailure = [&calls, rank = options.rank](const FailureCause& cause,
                                                          const std::string&) {
          EXPECT_EQ(cause.rank, 0);
          ++calls[static_cast<std::size_t>(rank)];
        };
      });
  EXPECT_THAT(calls, ::testing::Each(1));
}

// A tree of three levels: rank 0, ranks 1 to 16, ranks 17 to 39.
constexpr int kTreeRanks = 40;

MeshOptions tree() {
  MeshOptions mesh;
  mesh.mostInMesh = 1;
  mesh.beat = 200 * kNsPerMs;
  return mesh;
}

TEST(ControlMesh, ATreeEndsInOrderWhenAllRanksFinish) {
  const auto errors = runMesh(
      kTreeRanks,
      [](int rank, ControlChannel& control) {
        sleepMs(rank * 5);
        control.finish();
      },
      {}, tree());
  EXPECT_THAT(errors, ::testing::Each(""));
}

TEST(ControlMesh, InATreeTheRankThatFailsOrEndsIsNamedByAll) {
  for (const int culprit : {0, 2, 39}) {
    for (const bool fails : {true, false}) {
      const auto errors = runMesh(
          kTreeRanks,
          [&](int rank, ControlChannel& control) {
            if (rank != culprit) workUntilFailure(control);
            sleepMs(50);
            if (fails) throw Error(control.fail("bad loss"));
          },
          {}, tree());
      const std::string name = "rank " + std::to_string(culprit);
      for (int rank = 0; rank < kTreeRanks; ++rank) {
        if (rank == culprit && !fails) continue;
        EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                    ::testing::StartsWith(name + " failed "))
            << rank;
      }
    }
  }
}

TEST(ControlMesh, InATreeRankZeroFindsWhoStalls) {
  const auto errors = runMesh(
      kTreeRanks,
      [](int rank, ControlChannel& control) {
        control.begin(4);
        if (rank != 39) control.waitingFor(39, 5);
        while (true) {
          sleepMs(20);
          control.check();
        }
      },
      [](ControlOptions& options) {
        options.limits.stall.stepTimeout = kNsPerSecond;
        options.limits.stall.silence = 30 * kNsPerSecond;  // the machine may be busy
        options.limits.silence = 0;
      },
      tree());
  for (const std::string& error : errors) {
    EXPECT_THAT(error, ::testing::StartsWith("rank 39 stalled: it ended no action for"));
  }
}

// Two ranks that connect and then say nothing.
TEST(ControlMesh, TheTimeToConnectCountsForNobodysSilence) {
  testing::MemoryKeyValue store;
  std::string error;
  std::thread rank0([&] {
    try {
      ControlOptions options;
      options.worldSize = 3;
      options.limits.silence = kNsPerSecond;
      RunStart start(store, 0, 3, 20 * kNsPerSecond);
      workUntilFailure(*connectControlMesh(std::move(options), {}, start));
    } catch (const Error& e) {
      error = e.what();
    }
  });
  const auto meet = [&](int rank) {
    RunStart start(store, rank, 3, 20 * kNsPerSecond);
    return meetRanks({.rank = rank, .worldSize = 3, .neighbours = linksOf(rank, 3).neighbours},
                     start);
  };
  std::vector<ControlSocket> first;
  std::thread rank1([&] { first = meet(1); });
  sleepMs(1500);
  const std::vector<ControlSocket> late = meet(2);
  rank1.join();
  rank0.join();
  EXPECT_THAT(error, ::testing::StartsWith("rank 0 no longer hears of any other rank"))
      << "both are silent since the same moment";
}

}  // namespace
}  // namespace pipetrace
