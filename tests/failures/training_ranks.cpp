#include "tests/failures/training_ranks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "runtime/testing/rank_processes.h"
#include "trace/error.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"
#include "trace/testing/has_ended.h"

namespace pipetrace::testing {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kRanks = 4;
constexpr int kMostLooks = 1500;  // 20 ms apart

std::string logOf(const std::string& folder, int rank) {
  return folder + "/workerlog." + std::to_string(rank);
}

void awaitTraining(const std::string& folder) {
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto trains = [&] {
      return test::fileText(logOf(folder, rank)).find("step = 1") != std::string::npos;
    };
    int looks = 0;
    while (!trains()) {
      if (++looks > kMostLooks) throw Error("rank " + std::to_string(rank) + " never trained");
      std::this_thread::sleep_for(milliseconds(20));
    }
  }
}

}  // namespace

TrainingEnd trainUntil(const Fault& fault, const std::string& folder,
                       const std::vector<std::string>& options) {
  std::vector<std::string> command = {test::inBuild("bin/sample-gpipe-mlp"), "--steps",
                                      "100000000"};
  command.insert(command.end(), options.begin(), options.end());
  Clock::time_point begin;
  Clock::time_point happened;
  std::thread stopped;
  ProcessOptions processes;
  processes.whenStarted = [&](const std::vector<int>& pids) {
    begin = Clock::now();
    awaitTraining(folder);
    const int pid = pids[static_cast<std::size_t>(fault.rank)];
    happened = Clock::now();
    kill(pid, fault.signal);
    if (fault.signal != SIGSTOP) return;
    stopped = std::thread([pid, pids] {  // it never ends by itself
      const auto isLast = [&] {
        return std::all_of(pids.begin(), pids.end(),
                           [&](int other) { return other == pid || test::hasEnded(other); });
      };
      for (int i = 0; i < kMostLooks && !isLast(); ++i) {
        std::this_thread::sleep_for(milliseconds(20));
      }
      kill(pid, SIGKILL);
    });
  };
  processes.environment["PIPETRACE_LOG_DIR"] = folder;
  const std::vector<ProcessEnd> ends = runProcesses(kRanks, command, processes);
  if (stopped.joinable()) stopped.join();
  TrainingEnd result;
  const auto sinceBegin = std::chrono::duration_cast<milliseconds>(happened - begin);
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    result.outputs.push_back(ends[rank].output);
    if (static_cast<int>(rank) == fault.rank) continue;
    result.after = std::max(result.after, ends[rank].after - sinceBegin);
  }
  return result;
}

}  // namespace pipetrace::testing
