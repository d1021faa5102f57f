#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "schedule/scale/scale_option.h"
#include "trace/nanoseconds.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// Work that is made ideal: as long as the mean of its kind for jobs, as the median for messages
/// and collectives (docs/metrics.md, "Stragglers").
struct IdealSet {
  enum class Of : std::uint8_t { kStage, kRank, kReplica, kKind, kWorst, kAll };

  Of of = Of::kAll;
  int number = 0;              ///< of the stage, rank or replica (data-parallel index)
  std::vector<JobKind> kinds;  ///< of a kind: those that it stands for
  double share = 0;            ///< of the worst ranks among all
  std::string text;            ///< as it was typed

  /// Reads the text behind `--make-ideal`: stage=3, rank=5, replica=1, kind=backward, worst=3% or
  /// all. Throws Error, which begins with the option and the text.
  static IdealSet parse(const std::string& text);
};

/// Changes of a run that keeps its jobs and their order.
struct RunChanges {
  /// A message between two ranks takes that long, both ways.
  struct Link {
    int rank = 0;
    int peer = 0;
    Nanoseconds time = 0;
    std::string text;  ///< as it was typed, with its option
  };

  /// Collectives of these ranks, of this kind and for this use take `factor` times as long to move.
  struct Group {
    std::vector<int> ranks;  ///< ascending
    JobKind kind = JobKind::kAllReduce;
    GroupAxis axis = GroupAxis::kUnknown;
    double factor = 1;
  };

  std::vector<ScaleOption> scales;
  std::vector<Group> groups;
  /// These ranks do the same work between two collectives inside their jobs: each takes the mean
  /// of all.
  std::vector<std::vector<int>> evenGroups;
  /// Gathers of weights inside jobs run beside the compute before them, scatters beside that after
  /// them, in their step and on their rank (FSDP with prefetching). What is longer than that stays.
  bool hidesWeights = false;
  /// What these jobs compute themselves takes `factor` times as long, as without the collectives
  /// that run beside them.
  struct Contended {
    std::vector<JobGraph::Id> jobs;  ///< ascending
    double factor = 1;
  };
  std::optional<Contended> contended;
  std::vector<Link> links;
  /// Each stage takes the mean of all stages for each kind of compute job: the work is kept. The
  /// jobs of a stage keep their differences from each other.
  bool balancesStages = false;
  /// The micro-batches of these stages are of equal length: the jobs of each become shorter by the
  /// factor by which they are all together longer than those of the other micro-batches of their
  /// step and pipeline. Jobs vary among themselves as they did.
  std::vector<int> evenStages;
  /// Jobs without their pauses, ascending: each takes at most the median of its stage and kind, and
  /// begins when its last input is there.
  std::vector<JobGraph::Id> withoutPauses;
  /// The optimizer jobs of a rank take `factor` times as long.
  struct Optimizer {
    int rank = 0;
    double factor = 1;
  };
  std::vector<Optimizer> optimizers;
  std::vector<IdealSet> ideals;
  /// Everything begins when its last input is there. Pauses between steps stay. So does the time
  /// between ranks whose messages are not logged.
  bool leavesOutLaunches = false;
  /// The numbers of ranks whose jobs begin, and whose messages are sent, as long after their last
  /// inputs as those of all other ranks, in the median. What they vary by stays. One that opens the
  /// steps of its pipeline begins them no later after the step before than other pipelines do, as
  /// where it loads data that nothing records.
  std::vector<int> usualLaunches;

  /// Each compute job takes the mean of its rank, stage and kind over the steps that count, and
  /// each message that of its sender and receiver: nothing varies by chance. So far as these means
  /// differ no more than by chance, all of a kind take the same. After evenStages and
  /// withoutPauses, which are no chance.
  bool isSteady = false;

  bool empty() const {
    return scales.empty() && links.empty() && !balancesStages && ideals.empty() &&
           evenStages.empty() && withoutPauses.empty() && !leavesOutLaunches &&
           usualLaunches.empty() && groups.empty() && evenGroups.empty() && !hidesWeights &&
           !contended && optimizers.empty() && !isSteady;
  }
};

}  // namespace pipetrace
