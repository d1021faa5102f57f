#pragma once

#include <cassert>
#include <string>
#include <string_view>

#include "trace/job_kind.h"

namespace pipetrace {

/// Whether an action is work that data parallelism adds to a pipeline. UNSHARD gathers a stage's
/// parameters (all_gather). RESHARD frees what was gathered (JobKind::kReshard, which jobs lack).
/// REDUCE_GRAD reduces its gradients among the replicas (reduce_scatter). A trace of
/// torch.distributed.pipelining is read with the same kinds, which has no AGREE. No other action
/// has them, so each stands for one word.
///
/// AGREE stands at the end of each rank's row, or of none (all_reduce). All ranks add up numbers
/// that the optimizer's step depends on, such as the norm of all gradients. It is of no stage
/// (-1). A rank comes to it when all else has ended, its reductions too, and waits for all others.
/// It lasts Costs::scalarAllReduce.
///
/// Each of the others has a place in its rank's row and nothing else. It has no inputs, messages or
/// memory, and no time but what a job's own time says (Faults::jobs). REDUCE_GRAD of a stage that
/// stands on several ranks is a reduction, which lasts StageCosts::reduction beside the rank's
/// other work (schedule/simulate/reductions.h). A data-parallel action may name a stage that its
/// rank or the plan does not have, and may be there any number of times.
constexpr bool isDataParallel(JobKind kind) {
  return isCollective(kind) || kind == JobKind::kReshard;
}
/// Whether it is AGREE, the word of its cells.
constexpr bool isScalarAllReduce(JobKind kind) { return kind == JobKind::kAllReduce; }

inline constexpr std::string_view kAgreeCell = "AGREE";
inline constexpr int kAllStages = -1;  ///< the stage of AGREE

/// One thing that a rank does, in the plan's terms. `kind` is one of forward, backward,
/// backward_input, backward_weight, forward_backward, recompute, send_*, recv_*, or one of
/// isDataParallel().
struct Action {
  JobKind kind = JobKind::kForward;
  int stage = 0;  ///< virtual stage, 0 .. Plan::numStages - 1; AGREE: kAllStages
  /// 0 .. Plan::numMicroBatches - 1. REDUCE_GRAD: of a bucket. Data-parallel: -1 for none.
  int microBatch = 0;
  int backwardStage = -1;       ///< forward_backward only: the fused backward's stage
  int backwardMicroBatch = -1;  ///< forward_backward only
  /// A backward or a weight half may be cut into several jobs: the number of this one, from 0.
  /// kWhole: it is not cut. Part 0 has the last blocks of the stage (schedule/backward_parts.h).
  int part = kWhole;
  /// How many parts there are; follows from the other actions of its plan (withPartCounts()). 0: it
  /// is a part, and that is not known.
  int parts = 1;

  static constexpr int kWhole = -1;
  bool isPart() const { return part != kWhole; }
  /// Whether it begins what it is a part of, and takes the inputs of that. So does a whole one.
  bool isFirstPart() const { return part <= 0; }
  /// Whether it ends it, and makes the results.
  bool isLastPart() const { return part + 1 == parts || part == kWhole; }

  /// Without `parts`.
  bool operator==(const Action& other) const {
    return kind == other.kind && stage == other.stage && microBatch == other.microBatch &&
           backwardStage == other.backwardStage && backwardMicroBatch == other.backwardMicroBatch &&
           part == other.part;
  }
};

/// Whether an action of that kind may be cut into parts.
constexpr bool mayHaveParts(JobKind kind) {
  return kind == JobKind::kBackward || kind == JobKind::kBackwardWeight;
}

/// The cell of a schedule file: "0F3", "1B2", "2I0", "2W0", "2R0", "(0F7;7B3)OVERLAP_F_B",
/// "1SEND_F2", "0UNSHARD",
/// "AGREE", "3B7.0" for a part.
inline std::string toText(const Action& action) {
  const auto cell = [](int stage, std::string_view letters, int microBatch) {
    return std::to_string(stage) + std::string(letters) +
           (microBatch < 0 ? "" : std::to_string(microBatch));
  };
  if (isScalarAllReduce(action.kind)) return std::string(kAgreeCell);
  if (action.kind == JobKind::kForwardBackward) {
    return "(" + cell(action.stage, "F", action.microBatch) + ";" +
           cell(action.backwardStage, "B", action.backwardMicroBatch) + ")OVERLAP_F_B";
  }
  const std::string_view letters = rowOf(action.kind).cell;
  assert(!letters.empty() && "a kind that no plan holds");
  const std::string whole = cell(action.stage, letters, action.microBatch);
  return action.isPart() ? whole + "." + std::to_string(action.part) : whole;
}

}  // namespace pipetrace
