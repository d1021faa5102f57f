#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// Where a rank runs, and what it finds in its environment of that.
struct RankPlace {
  int rank = 0;
  int ranks = 1;       ///< of the run
  int localRank = 0;   ///< its number among the ranks of its host
  int localRanks = 1;  ///< of its host
  std::string masterAddress = "127.0.0.1";
  int masterPort = 0;
  std::string logDirectory{};  ///< absolute
  bool recording = false;
  std::string devices{};  ///< CUDA_VISIBLE_DEVICES; empty: as it is
  int restart = 0;        ///< LaunchOptions::restart
};

/// The environment of a rank, "NAME=value" each. It is this process's environment, without the
/// variables that an outer torchrun set (TORCHELASTIC_…), and with RANK, LOCAL_RANK, WORLD_SIZE,
/// LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, PIPETRACE_LOG_DIR and OMP_NUM_THREADS (see
/// launch()). PIPETRACE=1 is set if the rank is to record, and TORCHELASTIC_RESTART_COUNT at a
/// restart.
std::vector<std::string> rankEnvironment(const RankPlace& place);

}  // namespace pipetrace
