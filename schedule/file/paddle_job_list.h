#pragma once

#include <string>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// One entry of the job list that PaddlePaddle's static executor runs on a rank.
struct PaddleJob {
  std::string type;
  int microBatch = 0;

  bool operator==(const PaddleJob&) const = default;
};

struct PaddleJobListOptions {
  /// Opens with `lr`, as the passes of PaddlePaddle 2.5 did; later ones do without.
  bool lr = true;
  /// The passes' backward/forward overlap: a backward and the forward that follows it in the stable
  /// phase run as that many parts each. They take turns: backward(chunk0), forward(chunk0),
  /// backward(chunk1) … The passes split after each all-reduce that can be overlapped. The value 1
  /// means no split.
  int backwardParts = 1;
  int forwardParts = 1;
  /// recv_forward and send_backward as jobs of their own, as the 1F1B and VPP passes of
  /// PaddlePaddle 3 lay them out. Not together with parts.
  bool transfers = false;
};

/// A rank's row of a plan as PaddlePaddle's pipeline passes list it: `lr`, the warm-up's forwards,
/// the stable phase's backward and forward in turns, the other backwards, `optimizer`. Halves of a
/// backward pass are `backward_b` and `backward_w`; with several chunks on a rank a job's type ends
/// with its chunk's number. A recompute is a part of its backward there. Source: `_create_job_list`
/// of the passes FThenB, 1F1B, Eager1F1B, VPP and ZBH1 in
/// paddle/distributed/passes/pipeline_scheduler_pass, versions 2.5 to 3.3.1.
///
/// Throws Error for a rank that the plan does not have, and for parts below 1 or together with
/// transfers. Also for fused pairs, asynchronous and forward-only plans, which those job lists
/// cannot hold.
std::vector<PaddleJob> paddleJobList(const Plan& plan, int rank,
                                     const PaddleJobListOptions& options = {});

/// Job by job, "type(micro-batch)", with blanks between: "lr(0) forward(0) backward(0)
/// optimizer(0)".
std::string toText(const std::vector<PaddleJob>& jobs);

}  // namespace pipetrace
