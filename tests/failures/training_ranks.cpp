#include "tests/failures/training_ranks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/testing/rank_processes.h"
#include "trace/error.h"
#include "trace/testing/file_text.h"

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

/// The rank of a process, by its environment; -1: it has none.
int rankOfProcess(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.starts_with("RANK=")) return std::stoi(variable.substr(5));
  }
  return -1;
}

/// Whether a process has ended, waited for or not.
bool hasEnded(int pid) {
  const std::string stat = test::fileText("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name = stat.rfind(')');  // the state comes after the name
  return name == std::string::npos || stat.substr(name + 2, 1) == "Z";
}

/// The process of a rank among the children of pipe-run.
int childOfRank(int parent, int rank) {
  const std::string id = std::to_string(parent);
  std::istringstream children(test::fileText("/proc/" + id + "/task/" + id + "/children"));
  for (int pid = 0; children >> pid;) {
    if (rankOfProcess(pid) == rank) return pid;
  }
  throw Error("pipe-run has no rank " + std::to_string(rank));
}

}  // namespace

TrainingEnd trainUntil(const Fault& fault, const std::string& folder, bool launched,
                       const std::vector<std::string>& options) {
  std::vector<std::string> command = {TRAINING_PROGRAM, "--steps", "100000000"};
  command.insert(command.end(), options.begin(), options.end());
  Clock::time_point begin;
  Clock::time_point happened;
  std::thread stopped;
  ProcessOptions processes;
  processes.whenStarted = [&](const std::vector<int>& pids) {
    begin = Clock::now();
    awaitTraining(folder);
    std::this_thread::sleep_for(fault.delay);
    const int pid =
        launched ? childOfRank(pids[0], fault.rank) : pids[static_cast<std::size_t>(fault.rank)];
    happened = Clock::now();
    kill(pid, fault.signal);
    if (fault.signal != SIGSTOP) return;
    stopped = std::thread([pid, pids] {  // it never ends by itself
      const auto isLast = [&] {
        return std::all_of(pids.begin(), pids.end(),
                           [&](int other) { return other == pid || hasEnded(other); });
      };
      for (int i = 0; i < kMostLooks && !isLast(); ++i) {
        std::this_thread::sleep_for(milliseconds(20));
      }
      kill(pid, SIGKILL);
    });
  };
  std::vector<ProcessEnd> ends;
  if (launched) {
    std::vector<std::string> whole = {
        PIPE_RUN_PROGRAM,       "--ranks", std::to_string(kRanks), "--log-dir", folder,
        "--visualize-pipeline", "--"};
    whole.insert(whole.end(), command.begin(), command.end());
    ends.push_back(runProcess(whole, processes));
  } else {
    processes.environment["PIPETRACE_LOG_DIR"] = folder;
    ends = runProcesses(kRanks, command, processes);
  }
  if (stopped.joinable()) stopped.join();
  TrainingEnd result;
  const auto sinceBegin = std::chrono::duration_cast<milliseconds>(happened - begin);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const bool isVictim = !launched && static_cast<int>(i) == fault.rank;
    if (!isVictim) result.after = std::max(result.after, ends[i].after - sinceBegin);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    result.outputs.push_back(launched ? test::fileText(logOf(folder, rank))
                                      : ends[static_cast<std::size_t>(rank)].output);
  }
  return result;
}

}  // namespace pipetrace::testing
