#pragma once

#include <optional>
#include <vector>

#include "parser/foreign/found_jobs/host_runs.h"

namespace pipetrace {

/// The runs of a host that works on parts of forwards and parts of backwards in turn.
struct JoinedTurns {
  bool areTold = true;  ///< false: they do not tell which jobs they are, and nothing else is given
  /// Forwards and fused pairs (HostRun::isPair), and runs of neither, by their first operator.
  std::vector<HostRun> forwards;
  std::vector<HostRun> cores;  ///< by forward: from the first to the last operator with a backward
  std::vector<HostRun> calls;  ///< backwards that are in no pair
  /// Backwards without a forward, or with parts of a forward in them whose own backward is missing.
  std::vector<HostRun> unplaced;
};

/// Joins the parts of forwards and of backwards that take turns. Nothing where none do.
///
/// `forwards`: runs of operators that are no backward's, by their first operator. `cores`: from
/// their first to their last operator with a backward; empty where there are none. `calls`: of
/// autograd, by their first operator, with their forwards. findJobs() says what tells jobs apart.
/// O(n log n).
std::optional<JoinedTurns> joinTurns(const HostRuns& runs, const std::vector<HostRun>& forwards,
                                     const std::vector<HostRun>& cores,
                                     const std::vector<HostRun>& calls);

}  // namespace pipetrace
