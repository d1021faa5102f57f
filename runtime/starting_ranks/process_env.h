#pragma once

#include <string>

namespace pipetrace {

/// A process's place among its peers, as torchrun and pipe-run put it into the environment.
struct ProcessEnv {
  int rank = 0;             ///< RANK
  int localRank = 0;        ///< LOCAL_RANK
  int worldSize = 1;        ///< WORLD_SIZE
  int localWorldSize = 1;   ///< LOCAL_WORLD_SIZE; if unset, all are on this host
  std::string masterAddr;   ///< MASTER_ADDR: where rank 0 (or the agent) serves the store
  int masterPort = 0;       ///< MASTER_PORT
  int clockPort = 0;        ///< PIPETRACE_CLOCK_PORT; if unset, 0: any that is free
  bool agentStore = false;  ///< TORCHELASTIC_USE_AGENT_STORE: torchrun serves the store itself
  std::string attempt;      ///< TORCHELASTIC_RESTART_COUNT, "0" if unset

  /// Whether the launcher has started all ranks again, after one had died.
  bool isRestart() const { return !attempt.empty() && attempt != "0"; }
};

/// Reads the variables. Throws Error naming the variable that is missing or no number, or out of
/// range (rank < world size, port 1 .. 65535).
ProcessEnv readProcessEnv();

}  // namespace pipetrace
