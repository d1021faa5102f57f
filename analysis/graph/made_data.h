#pragma once

#include "analysis/graph/job_graph.h"
#include "analysis/graph/job_index.h"
#include "trace/log/fused_pair.h"

namespace pipetrace {

/// Visits the forward and backward data that a job makes, by its own stage.
template <typename Visit>
void visitMadeData(const Timeline& timeline, const JobGraph::Node& job, const Visit& visit) {
  switch (job.kind) {
    case JobKind::kForwardBackward:
      if (const auto pair = fusedPairOf(timeline, *job.event)) {
        visit(JobKey{job.step, pair->forwardStage, pair->forwardMicroBatch, true});
        visit(JobKey{job.step, pair->backwardStage, pair->backwardMicroBatch, false});
      }
      break;
    case JobKind::kForward:
    case JobKind::kBackward:
    case JobKind::kBackwardInput:
      visit(JobKey{job.step, job.stage, job.microBatch, job.kind == JobKind::kForward});
      break;
    default: break;
  }
}

}  // namespace pipetrace
