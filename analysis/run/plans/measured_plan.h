#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/plan.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// Sets the placement of a plan with more ranks than stages, whose ranks take turns at the
/// micro-batches of their stages. Returns whether it did so. `stated` holds the ranks of each stage
/// as the logs name them.
///
/// Where it is empty or of other ranks, they follow from the actions. Each rank must have actions
/// of one stage. Where a stage has n ranks, one must have most of
/// the micro-batches 0, n, 2n and so on, another one most of 1, n + 1 and so on. Linear in the
/// plan.
bool placeSharedStages(Plan& plan, const std::vector<std::vector<int>>& stated);

/// Whether the placement is such: ranks take turns at the micro-batches of a stage.
bool hasSharedStages(const Plan& plan);

/// The work of one pipeline in one step, as a plan.
struct MeasuredPlan {
  /// The compute jobs of each rank in the order of their begins; recomputations belong to their
  /// backward passes and are left out. Micro-batches are renumbered from 0 in the order of their
  /// numbers. The row of a rank without a log is empty, and its stages are on rank -1, except where
  /// the logs say that ranks share stages (Topology::ranksOfStage). Where
  /// optimizer jobs stand between the jobs of the step, updates.every follows from what lies
  /// before the first. No ranks: there is no plan, and `problem` says why.
  Plan plan;
  /// Why there is no plan, or why it is not all of the step's work: one sentence without a full
  /// stop. Empty for a whole plan.
  std::string problem;
  /// Whether a job did not name its micro-batch. Then the n-th job of a stage and a pass on its
  /// rank is that of the n-th micro-batch; a weight half belongs to the oldest input half.
  bool countsMicroBatches = false;
  /// Whether the jobs' times show a V-shaped pipeline where stage p + s would be on rank s. The
  /// stages of the plan are then not those of the jobs.
  bool stagesFollowTimes = false;

  std::vector<int> rankNumbers;  ///< by rank of the plan: the number in the logs; -1: has no log
  std::vector<std::int32_t> microBatchNumbers;  ///< by micro-batch: as jobs name it
  /// The job of each action, by rank and position. Valid as long as the timeline.
  std::vector<std::vector<const Event*>> jobs;

  bool exists() const { return !plan.ranks.empty(); }
  bool isWhole() const { return exists() && problem.empty(); }
};

/// The plan that the pipeline `replica` followed in `step`. `timeline` is completed
/// (completeTimeline()) and stays as it is; `topology` is its topologyOf(). A job in sub-jobs
/// begins with the first. Linear in the events of the pipeline's ranks.
MeasuredPlan measuredPlan(const Timeline& timeline, const Topology& topology, int replica,
                          std::int32_t step);

}  // namespace pipetrace
