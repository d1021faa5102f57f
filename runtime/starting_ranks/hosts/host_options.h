#pragma once

#include <string>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Where a rank shall run.
struct RankHost {
  std::string host{};  ///< a name or an address, as the remote shell takes it
  int device = -1;     ///< the number of its GPU there; -1: none is given
};

/// The default of HostOptions::remoteShell. It asks for no password: nobody may be there to answer.
inline constexpr const char* kRemoteShell = "ssh -o BatchMode=yes -o ConnectTimeout=10";

/// The hosts of a run, and how programs are started on those that are not this one.
struct HostOptions {
  std::vector<RankHost> ranks;  ///< of each rank; empty: all are on this host
  /// Words of /bin/sh, to which the host and one line for the shell of that host are added.
  std::string remoteShell = kRemoteShell;
  std::string prefix;   ///< stands before the agent in that line: "singularity exec image.sif"
  std::string agent;    ///< the agent's program there; it is started with --host-agent
  std::string version;  ///< of this program; agents must have the same
  std::string masterAddress;  ///< of rank 0's host, for all ranks; empty: one that all reach
  Nanoseconds startTimeout = 60 * kNsPerSecond;  ///< for each host to answer
};

}  // namespace pipetrace
