#pragma once

#include <string>
#include <vector>

#include "runtime/control/control_socket.h"
#include "runtime/control/start/run_start.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct MeetingOptions {
  int rank = 0;
  int worldSize = 1;
  std::vector<int> neighbours;     ///< ascending: with whom the rank is connected (linksOf())
  std::string host = "127.0.0.1";  ///< an address of this host under which the others reach it
  /// For one connection, when the other side waits for it.
  Nanoseconds linkTimeout = 8 * kNsPerSecond;
};

/// Connects this rank with its neighbours: the higher of two connects to the lower one. Returns the
/// connections by rank, those of no neighbour not open, when all ranks of the run have all of
/// theirs.
///
/// Addresses are in the store under "control/<rank>", each with a token without which nobody is
/// taken for a rank. Throws Error, on all ranks, if one does not come, cannot be reached or ends.
std::vector<ControlSocket> meetRanks(const MeetingOptions& options, RunStart& start);

}  // namespace pipetrace
