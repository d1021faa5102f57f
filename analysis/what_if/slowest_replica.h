#pragma once

#include <vector>

#include "analysis/bubbles/run_basis.h"
#include "analysis/steps/counted_steps.h"

namespace pipetrace {

/// The pipeline whose compute jobs end last, by the median of the steps that count. All others wait
/// for it. There must be one.
const PipelineBasis& slowestPipeline(const RunBasis& basis, const CountedSteps& counted);

/// The time from the last compute job of a step of that pipeline to the end of the step, in the
/// median of whole steps that count. It has collectives and optimizers.
Nanoseconds tailOf(const JobGraph& graph, const PipelineBasis& pipeline,
                   const CountedSteps& counted);

/// The replica of a run that all others wait for.
struct SlowestReplica {
  int replica = 0;         ///< its data-parallel index
  int replicas = 1;        ///< of the run
  std::vector<int> ranks;  ///< ascending
  Nanoseconds tail = 0;    ///< tailOf()
};

}  // namespace pipetrace
