// Ranks as processes that are killed, stopped or stand still. PIPETRACE_KILLS=50 kills that many
// times.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <utility>

#include "runtime/control/control_channel.h"
#include "runtime/control/testing/ring_run.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using testing::RingEnd;
using testing::RingRun;

constexpr int kRanks = 4;
const std::vector<std::string> kEndless{"--actions", "100000000"};

int killCount() {
  const char* const text = std::getenv("PIPETRACE_KILLS");
  return text == nullptr ? 8 : std::atoi(text);
}

std::vector<std::string> endlessWith(std::vector<std::string> more) {
  more.insert(more.end(), kEndless.begin(), kEndless.end());
  return more;
}

// All but the culprit end with the text of one failure; the longest time that one took.
Nanoseconds expectAllName(const std::vector<RingEnd>& ends, int culprit, const std::string& text) {
  Nanoseconds longest = 0;
  for (int rank = 0; rank < static_cast<int>(ends.size()); ++rank) {
    if (rank == culprit) continue;
    const RingEnd& end = ends[static_cast<std::size_t>(rank)];
    EXPECT_EQ(end.ending, "exited with status 3") << "rank " << rank << ": " << end.output;
    EXPECT_THAT(end.output, HasSubstr("\nrank " + std::to_string(culprit) + " " + text));
    EXPECT_THAT(end.output, HasSubstr("; this rank, " + std::to_string(rank) + ", was "));
    longest = std::max(longest, end.after);
  }
  return longest;
}

TEST(ControlProcesses, ARingWithoutFaultsEndsInOrder) {
  RingRun run(kRanks, {"--actions", "50", "--timeout-ms", "5000"});
  for (const RingEnd& end : run.await(20 * kNsPerSecond)) {
    EXPECT_EQ(end.ending, "exited with status 0") << end.output;
    EXPECT_EQ(end.output, "connected\nok\n");
  }
}

TEST(ControlProcesses, KilledAtRandomMomentsARankIsNamedByAllOthersWithinASecond) {
  std::mt19937 random(static_cast<unsigned>(getpid()));
  std::vector<Nanoseconds> times;
  for (int i = 0; i < killCount(); ++i) {
    const int killed = i % kRanks;
    RingRun run(kRanks, kEndless);
    run.awaitConnected();
    usleep(std::uniform_int_distribution<useconds_t>(0, 250'000)(random));
    run.signal(killed, SIGKILL);
    const auto ends = run.await(10 * kNsPerSecond);
    times.push_back(expectAllName(ends, killed, "died, last seen "));
    EXPECT_LT(times.back(), kNsPerSecond) << "kill " << i;
    if (HasFailure()) break;
  }
  std::sort(times.begin(), times.end());
  std::cout << times.size() << " kills; the last survivor ended after "
            << times[times.size() / 2] / kNsPerMs << " ms (median), " << times.back() / kNsPerMs
            << " ms (longest)\n";
}

TEST(ControlProcesses, AllOthersNameTheSameOfTwoRanksKilledTogether) {
  for (const auto& [first, second] : {std::pair(0, 1), std::pair(3, 0), std::pair(1, 3)}) {
    RingRun run(5, kEndless);
    run.awaitConnected();
    run.signal(first, SIGKILL);
    run.signal(second, SIGKILL);
    const auto ends = run.await(10 * kNsPerSecond);
    std::set<std::string> names;
    for (int rank = 0; rank < 5; ++rank) {
      if (rank == first || rank == second) continue;
      const RingEnd& end = ends[static_cast<std::size_t>(rank)];
      EXPECT_EQ(end.ending, "exited with status 3") << end.output;
      EXPECT_LT(end.after, 2 * kNsPerSecond);
      names.insert(end.output.substr(0, end.output.find(" died, ")));
    }
    EXPECT_THAT(names, ::testing::SizeIs(1));
    EXPECT_THAT(*names.begin(), ::testing::AnyOf("connected\nrank " + std::to_string(first),
                                                 "connected\nrank " + std::to_string(second)));
  }
}

// Rank 0 is the root, rank 2 has 16 ranks below it, rank 39 none.
TEST(ControlProcesses, InATreeAKilledRankIsNamedByAllOthersAtAnyLevel) {
  constexpr int kTreeRanks = 40;
  for (const int killed : {0, 2, 39}) {
    RingRun run(kTreeRanks, endlessWith({"--mesh-ranks", "1"}));
    run.awaitConnected();
    usleep(100'000);
    run.signal(killed, SIGKILL);
    const auto ends = run.await(10 * kNsPerSecond);
    EXPECT_LT(expectAllName(ends, killed, "died, last seen "), 3 * kNsPerSecond);
  }
}

TEST(ControlProcesses, InATreeAStoppedInnerRankIsNamed) {
  RingRun run(40, endlessWith({"--mesh-ranks", "1", "--silence-ms", "1200"}));
  run.awaitConnected();
  run.signal(3, SIGSTOP);
  const auto ends = run.await(20 * kNsPerSecond, 3);
  expectAllName(ends, 3, "has not been heard of for ");
}

TEST(ControlProcesses, ARankKilledWhileOthersWaitForItAtTheEndIsNamed) {
  RingRun run(kRanks, {"--actions", "20", "--stall", "0:39"});  // the others pass the last token on
  run.awaitConnected();
  usleep(300'000);
  run.signal(0, SIGKILL);
  const auto ends = run.await(10 * kNsPerSecond);
  expectAllName(ends, 0, "died, last seen in 0R19 (39 actions ended)");
  EXPECT_THAT(ends[3].output, HasSubstr("was after its last action, waiting for the others"));
}

TEST(ControlProcesses, ARankThatExitsWithoutAWordIsNamed) {
  RingRun run(kRanks, endlessWith({"--exit", "2:41"}));
  const auto ends = run.await(10 * kNsPerSecond);
  expectAllName(ends, 2, "died, last seen ");
  EXPECT_EQ(ends[2].ending, "exited with status 1");
}

TEST(ControlProcesses, AnExceptionReachesAllRanksWithItsText) {
  RingRun run(kRanks, endlessWith({"--throw", "1:41"}));
  const auto ends = run.await(10 * kNsPerSecond);
  expectAllName(ends, 1, "failed in 1S20 (41 actions ended): the matrix has no inverse");
  EXPECT_THAT(ends[1].output, HasSubstr("no inverse; this is rank 1"));
}

TEST(ControlProcesses, AStoppedRankIsNamedOnceTheStepTimeoutIsOver) {
  RingRun run(kRanks, endlessWith({"--timeout-ms", "1500"}));
  run.awaitConnected();
  run.signal(1, SIGSTOP);
  const auto ends = run.await(10 * kNsPerSecond, 1);
  const Nanoseconds longest = expectAllName(ends, 1, "has not been heard of for ");
  EXPECT_LT(longest, 4 * kNsPerSecond);
  std::cout << "stopped with a step timeout of 1500 ms: " << longest / kNsPerMs << " ms\n";
}

TEST(ControlProcesses, AStoppedRankIsNamedWithoutAStepTimeoutToo) {
  RingRun run(kRanks, endlessWith({"--silence-ms", "1200"}));
  run.awaitConnected();
  run.signal(0, SIGSTOP);
  const auto ends = run.await(10 * kNsPerSecond, 0);
  expectAllName(ends, 0, "has not been heard of for ");
}

TEST(ControlProcesses, ARankThatWaitsForAMessageThatNobodySendsIsNamed) {
  RingRun run(kRanks, endlessWith({"--mispair", "2:41", "--timeout-ms", "800"}));
  const auto ends = run.await(10 * kNsPerSecond);
  expectAllName(ends, 2, "waits for a message that nobody sends: it stands for ");
  EXPECT_THAT(ends[0].output, HasSubstr(" in 2S20 (41 actions ended), waiting for token 21 from "
                                        "rank 1; this rank, 0, was in 0R20 (41 actions ended), "
                                        "waiting for token 20 from rank 3"));
}

TEST(ControlProcesses, AStalledRankIsNamedAndItsProcessEndsWithItsLogsWritten) {
  RingRun run(kRanks, endlessWith({"--stall", "3:41", "--timeout-ms", "800"}));
  const auto ends = run.await(10 * kNsPerSecond);
  expectAllName(ends, 3, "stalled: it ended no action for ");
  EXPECT_EQ(ends[3].ending, "exited with status " + std::to_string(kStuckExitCode));
  EXPECT_THAT(ends[3].output, HasSubstr("\nflushed: rank 3 stalled"));
}

TEST(ControlProcesses, ASlowButSoundRankIsNotBlamed) {
  // Each rank waits for the two others, which takes longer than the timeout; none works that long.
  RingRun run(3, {"--actions", "2", "--work-us", "500000", "--timeout-ms", "850"});
  for (const RingEnd& end : run.await(20 * kNsPerSecond)) {
    EXPECT_EQ(end.ending, "exited with status 0") << end.output;
  }
}

}  // namespace
}  // namespace pipetrace
