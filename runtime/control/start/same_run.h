#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/control/start/run_start.h"

namespace pipetrace {

/// Names and values that are the same on all ranks of a run: {"seed", "7"}. They have no line
/// breaks, and the names have the same order everywhere.
using RunFacts = std::vector<std::pair<std::string, std::string>>;

/// A rank, as it sees itself. No text has a line break.
struct RankPlaceInRun {
  int rank = 0;
  int worldSize = 1;
  std::string address = "127.0.0.1";  ///< from which it reaches rank 0, as digits
  std::string host;                   ///< the name of its host
};

/// All ranks know this when they have come.
struct RanksOfRun {
  /// An address of this host under which all other ranks reach it. That is its own one; but where
  /// that is a loopback address, and ranks run on other hosts, the one from which it reaches these.
  std::string address;
  /// By rank. Hosts of one name that have several addresses are named by these.
  std::vector<std::string> hosts;

  bool hasSeveralHosts() const;
};

/// Waits for all ranks, which must all call it, and compares their facts. Throws Error on all ranks
/// if one does not come, or if ranks differ: it names those whose value fewer ranks have, or not
/// rank 0.
RanksOfRun awaitSameRun(RunStart& start, const RankPlaceInRun& place, const RunFacts& facts);

}  // namespace pipetrace
