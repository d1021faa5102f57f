#pragma once

#include <string>
#include <vector>

namespace pipetrace {

struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int masterPort = 0;
  std::string logDirectory;  ///< absolute
  bool recording = false;
};

/// This process's environment with what a rank is told: RANK, LOCAL_RANK, WORLD_SIZE,
/// LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, PIPETRACE_LOG_DIR, PIPETRACE=1 if it is to record,
/// OMP_NUM_THREADS (see launch());
/// without what an outer torchrun told us (TORCHELASTIC_…). "NAME=value" each.
std::vector<std::string> rankEnvironment(const RankPlace& place);

}  // namespace pipetrace
