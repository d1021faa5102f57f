#pragma once

#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Ranks whose found jobs were taken away again.
struct LeftOutJobs {
  /// Kernels do not tell where the backwards of their last stage begin (RankInfo::jobsInPairs).
  std::vector<int> unparted;
  /// Other ranks of the run have no file, and no group says which ranks make up the pipeline.
  std::vector<int> lackNeighbours;
  /// Ranks with fused pairs that no known schedule has in their order, and how many jobs were taken
  /// away, those of all ranks in those steps.
  std::vector<int> takeTurns;
  std::int64_t jobsInTurns = 0;
};

/// Gives jobs that a reader found without annotations (RankInfo::jobsFound) their stages, chunks
/// and micro-batches, where ranks have several chunks. Until then their micro-batch is the place of
/// their forward among those of their rank and step.
///
/// The messages of a micro-batch lead from stage to stage: the k-th forward that one rank sends to
/// another is the k-th that the other gets from it. The first stage has the forwards of the first
/// rank that get no message, in their order. Elsewhere a forward that gets none continues one of
/// its own rank that sends none. Where messages do not name the other rank, they go to the next
/// rank of the pipeline.
///
/// Where messages are missing or contradict that, all ranks of a step together are compared with
/// the schedules that are known. A reader may know only the order of backwards
/// (RankInfo::jobsByOrder). Then the schedule says whose they are. If several fit that say other
/// things, one of the fewest chunks holds, and jobsByOrder stays. A step that fits none keeps its
/// numbers by order, and RankInfo::jobsByOrder counts it.
///
/// Where files of ranks are missing, messages do not lead through the pipeline: the schedules alone
/// say the numbers of those that are there, if their places are known.
///
/// Messages do not say which half of a fused pair is theirs. So the schedules say what such pairs
/// are, and give them their action. The jobs of a step whose pairs are in no schedule are left out.
///
/// Jobs of CUDA graphs name no peers, and may not be enough (LeftOutJobs). Then no rank of that
/// pipeline keeps jobs.
///
/// `timeline`: sorted, with steps. Does nothing more when it is called again.
LeftOutJobs numberFoundJobs(Timeline& timeline, int threads = 1);

}  // namespace pipetrace
