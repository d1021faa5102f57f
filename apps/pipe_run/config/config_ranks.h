#pragma once

#include <string>
#include <vector>

#include "runtime/engine/config/run_config.h"
#include "runtime/starting_ranks/hosts/host_list.h"
#include "runtime/starting_ranks/rank_environment.h"

namespace pipetrace {

/// The hosts of a run with `ranks` ranks: those of `machines`, or else this one with all ranks.
/// Throws Error as "FILE:LINE: …" where they cannot be hosts of one run.
std::vector<HostOfRun> hostsOf(const RunConfig& config, int ranks);

/// How the agents of a run's other hosts are started. `given` has what the command line says, which
/// counts before `container` and `master_addr` of the file. Throws Error as "FILE:LINE: …" where
/// that does not fit the hosts.
HostOptions hostOptionsOf(const RunConfig& config, const std::vector<HostOfRun>& hosts,
                          const HostOptions& given);

/// A rank's place in the run.
struct ConfiguredRank {
  std::string host;  ///< empty: this one
  int gpu = -1;      ///< of the host; -1: none is named
  RankPlace place;   ///< as far as the hosts say it
};

/// All ranks of the run, by number.
std::vector<ConfiguredRank> ranksOf(const std::vector<HostOfRun>& hosts);

/// The line of a shell that starts the rank, for people: "RANK=1 WORLD_SIZE=4 … program …".
std::string commandText(const ConfiguredRank& rank, const std::vector<std::string>& command);

/// The lines of shells that start the agents of other hosts, for people.
std::vector<std::string> agentTexts(const std::vector<HostOfRun>& hosts,
                                    const HostOptions& options);

}  // namespace pipetrace
