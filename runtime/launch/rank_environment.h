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

/// The environment of a rank, "NAME=value" each. It is this process's environment, without the
/// variables that an outer torchrun set (TORCHELASTIC_…), and with RANK, LOCAL_RANK, WORLD_SIZE,
/// LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, PIPETRACE_LOG_DIR and OMP_NUM_THREADS (see
/// launch()). PIPETRACE=1 is set if the rank is to record.
std::vector<std::string> rankEnvironment(const RankPlace& place);

}  // namespace pipetrace
