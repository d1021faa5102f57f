// Times the control channel alone, with a process for each rank on this host. It prints how long
// the ranks take to come together, how much memory they need, and how long all take to end when one
// is killed.
//    control_bench RANKS...
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "runtime/control/testing/ring_run.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kLimit = 300 * kNsPerSecond;

double seconds(Nanoseconds time) { return static_cast<double>(time) / kNsPerSecond; }

/// Prints a row of the table. Returns whether all ranks named the one that was killed.
bool measure(int ranks) {
  const int killed = std::min(5, ranks - 1);  // in a tree it has ranks below it
  testing::RingRun run(ranks, {"--actions", "100000000"});
  const Nanoseconds connected = run.awaitConnected(kLimit);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const double memory = static_cast<double>(run.ownMemory()) / ranks / 1e6;
  run.signal(killed, SIGKILL);
  int named = 0;
  Nanoseconds longest = 0;
  for (const testing::RingEnd& end : run.await(kLimit)) {
    const std::string text = "rank " + std::to_string(killed) + " died, last seen ";
    if (end.output.find(text) != std::string::npos) {
      ++named;
    } else if (end.ending.find("SIGKILL") == std::string::npos) {
      std::fprintf(stderr, "a rank that %s says: %s\n", end.ending.c_str(), end.output.c_str());
    }
    longest = std::max(longest, end.after);
  }
  std::printf("| %d | %.2f s | %.2f MB | %.2f s | %d of %d |\n", ranks, seconds(connected), memory,
              seconds(longest), named, ranks - 1);
  std::fflush(stdout);
  return named == ranks - 1;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    std::fputs("usage: control_bench RANKS...\n", stderr);
    return 2;
  }
  bool isRight = true;
  std::puts("| ranks | connected after | memory of each | all ended after a kill | named it |");
  std::puts("|---|---|---|---|---|");
  try {
    for (int i = 1; i < argc; ++i) {
      isRight = pipetrace::measure(std::max(std::atoi(argv[i]), 2)) && isRight;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "control_bench: %s\n", e.what());
    return 1;
  }
  return isRight ? 0 : 1;
}
