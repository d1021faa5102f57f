#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/control/control_channel.h"
#include "runtime/control/start/links.h"
#include "runtime/control/start/run_start.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct MeshOptions {
  std::string host = "127.0.0.1";  ///< an address of this host under which the others reach it
  /// The host of each rank, the same on all ranks, for verdicts about whole hosts; empty: unknown.
  std::vector<std::string> hosts = {};
  /// The most ranks that have a connection between every two.
  int mostInMesh = ControlLinks::kMeshRanks;
  /// How often ranks tell where they are; 0: by the number of ranks, beatOf(). The limits of
  /// ControlOptions grow with it.
  Nanoseconds beat = 0;
  /// For one connection, when the other side waits for it.
  Nanoseconds linkTimeout = 8 * kNsPerSecond;
};

/// A control channel between processes: TCP connections between every two ranks, in large runs
/// those of a tree (ControlLinks), and one thread in each. A process that ends is noticed at once,
/// because the system closes its connections. In a tree no verdict names hosts, and stalls are
/// found by rank 0, which a rank's status reaches after a beat for each level.
///
/// Returns when all ranks are connected (meetRanks()). Throws Error, on all ranks, if a rank does
/// not come, cannot be reached or fails while connecting; its text names the ranks. `start` is used
/// in this call only.
std::unique_ptr<ControlChannel> connectControlMesh(ControlOptions options, const MeshOptions& mesh,
                                                   RunStart& start);

}  // namespace pipetrace
