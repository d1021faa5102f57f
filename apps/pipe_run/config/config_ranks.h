#pragma once

#include <string>
#include <vector>

#include "runtime/engine/config/run_config.h"
#include "runtime/launch/launcher.h"

namespace pipetrace {

/// A rank of a run that is configured.
struct ConfiguredRank {
  std::string host;  ///< empty: this one
  int gpu = -1;      ///< of the host; -1: none is named
  int localRank = 0;
  std::string visibleDevices;  ///< CUDA_VISIBLE_DEVICES; empty: as the environment has it
};

/// All ranks of the run. A host's ranks see its GPUs that are named, in the order of ranks, so that
/// each finds its own by its local rank. Where two have one, each sees its own alone.
std::vector<ConfiguredRank> ranksOf(const RunConfig& config, int ranks);

/// Whether a name means this host: localhost, an address of 127.0.0.0/8, or its own name.
bool meansThisHost(const std::string& host);

/// The variables of each rank beside its place: CUDA_VISIBLE_DEVICES.
std::vector<std::vector<std::string>> variablesOf(const std::vector<ConfiguredRank>& ranks);

/// The line of a shell that starts the rank, for people: "RANK=1 WORLD_SIZE=4 … program …".
std::string commandText(const std::vector<ConfiguredRank>& ranks, int rank,
                        const std::vector<std::string>& command);

/// Throws Error as "FILE:LINE: …" if the ranks cannot be started: some are on other hosts.
void requireHosts(const RunConfig& config, const std::vector<ConfiguredRank>& ranks);

/// Starts the ranks and waits for them, as launch() does.
LaunchResult launchRanks(const std::vector<ConfiguredRank>& ranks, const LaunchOptions& options);

}  // namespace pipetrace
