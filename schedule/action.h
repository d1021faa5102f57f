#pragma once

#include <string>

#include "trace/job_kind.h"

namespace pipetrace {

/// Whether an action is work that data parallelism adds to a pipeline. UNSHARD gathers a stage's
/// parameters (all_gather). RESHARD frees what was gathered (other: no kind of job says that).
/// REDUCE_GRAD reduces its gradients among the replicas (reduce_scatter). A trace of
/// torch.distributed.pipelining is read with the same kinds. No other action has them, so each
/// stands for one word. New kinds would be new rows in every table of kinds.
///
/// Such an action has a place in its rank's row and nothing else: no inputs, no messages, no
/// memory, and no time but what a job's own time says (Faults::jobs). REDUCE_GRAD of a stage that
/// stands on several ranks is a reduction, which lasts StageCosts::reduction beside the rank's
/// other work (schedule/simulate/reductions.h). A data-parallel action may name a stage that its
/// rank or the plan does not have, and may be there any number of times.
constexpr bool isDataParallel(JobKind kind) {
  return kind == JobKind::kAllGather || kind == JobKind::kReduceScatter || kind == JobKind::kOther;
}

/// One thing that a rank does, in the plan's terms. `kind` is one of forward, backward,
/// backward_input, backward_weight, forward_backward, recompute, send_*, recv_*, or one of
/// isDataParallel().
struct Action {
  JobKind kind = JobKind::kForward;
  int stage = 0;  ///< virtual stage, 0 .. Plan::numStages - 1
  int microBatch =
      0;  ///< 0 .. Plan::numMicroBatches - 1; REDUCE_GRAD: of a bucket; data-parallel: -1 for none
  int backwardStage = -1;       ///< forward_backward only: the fused backward's stage
  int backwardMicroBatch = -1;  ///< forward_backward only

  bool operator==(const Action&) const = default;
};

/// The cell of a schedule file: "0F3", "1B2", "2I0", "2W0", "2R0", "(0F7;7B3)OVERLAP_F_B",
/// "1SEND_F2", "0UNSHARD".
std::string toText(const Action& action);

}  // namespace pipetrace
