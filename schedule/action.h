#pragma once

#include <string>

#include "trace/job_kind.h"

namespace pipetrace {

/// One thing that a rank does, in the plan's terms. `kind` is one of forward, backward,
/// backward_input, backward_weight, forward_backward, recompute, send_*, recv_*.
struct Action {
  JobKind kind = JobKind::kForward;
  int stage = 0;                ///< virtual stage, 0 .. Plan::numStages - 1
  int microBatch = 0;           ///< 0 .. Plan::numMicroBatches - 1
  int backwardStage = -1;       ///< forward_backward only: the fused backward's stage
  int backwardMicroBatch = -1;  ///< forward_backward only

  bool operator==(const Action&) const = default;
};

/// The cell of a schedule file: "0F3", "1B2", "2I0", "2W0", "2R0", "(0F7;7B3)OVERLAP_F_B",
/// "1SEND_F2".
std::string toText(const Action& action);

}  // namespace pipetrace
