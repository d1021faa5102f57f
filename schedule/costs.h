#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "schedule/action.h"
#include "schedule/backward_parts.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Differences of single jobs and links from the costs of their stages. A plan is simulated or
/// rehearsed with them to see how much time they cost.
struct Faults {
  static constexpr int kEveryStep = -1;

  /// Messages between two ranks, both ways, take another time.
  struct Link {
    int rank = 0;
    int peer = 0;
    Nanoseconds transfer = 0;
  };
  /// A job takes longer, or begins later than its inputs allow.
  struct Job {
    Action action;
    int step = kEveryStep;
    Nanoseconds longer = 0;
    Nanoseconds late = 0;
  };

  std::vector<Link> links;  ///< one for two ranks; of several the last counts
  std::vector<Job> jobs;    ///< those of one action add up

  bool empty() const { return links.empty() && jobs.empty(); }

  /// Whether any changes the time of the action, in some step.
  bool change(const Action& action) const {
    return std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) {
      return job.action == action && (job.longer != 0 || job.late != 0);
    });
  }

  /// The sum of those of one action in one step.
  Job of(const Action& action, int step) const {
    Job sum{.action = action, .step = step};
    for (const Job& job : jobs) {
      if (!(job.action == action) || (job.step != kEveryStep && job.step != step)) continue;
      sum.longer += job.longer;
      sum.late += job.late;
    }
    return sum;
  }
};

/// The time and the memory that one micro-batch takes on one stage.
struct StageCosts {
  Nanoseconds forward = 0;
  Nanoseconds backward = 0;       ///< the whole backward pass
  Nanoseconds backwardInput = 0;  ///< the halves, where a plan splits it
  Nanoseconds backwardWeight = 0;
  /// A fused pair whose forward is of this stage; negative: as long as its two parts.
  Nanoseconds forwardBackward = -1;
  Nanoseconds recompute = 0;  ///< a forward that is run again for its backward

  // Memory, in bytes (or in any unit; as they stand, memory counts activations).
  std::int64_t activation = 1;  ///< what a forward takes, until the backward pass is done
  /// The part of it that the input half gives back already. It is below 0 where that half leaves
  /// more than the forward took, as the weight half needs gradients.
  std::int64_t freedByInput = 0;
  /// The part of it that a forward gives back at its end where the plan recomputes it. The
  /// recompute takes it again when it begins, until the backward frees it.
  std::int64_t recomputed = 0;
  /// A backward, or its input half, takes this when it begins, beside what is held, and gives it
  /// back when it ends: gradients on their way back. Other jobs have hardly more than what they
  /// keep.
  std::int64_t working = 0;
  std::int64_t weights = 0;  ///< one version of the weights, and all memory that comes with it

  /// The size of the output that a micro-batch sends on, and of its gradient sent back to this
  /// stage.
  std::int64_t message = 0;

  /// Where the stage stands on several ranks: adding up its gradients, for each REDUCE_GRAD.
  Nanoseconds reduction = 0;

  /// The number of its blocks, alike in time, at whose boundaries a backward is cut into parts
  /// (blocksOfPart()); 0: parts are even.
  std::int64_t blocks = 0;

  /// The time of a part, if that of the whole is `whole`. The parts add up to it.
  Nanoseconds timeOfPart(Nanoseconds whole, const Action& action) const {
    if (!action.isPart()) return whole;
    const auto after = [&](int done) {
      if (blocks == 0) return cutOfParts(whole, done, action.parts);
      return whole / blocks * cutOfParts(blocks, done, action.parts) +
             whole % blocks * cutOfParts(blocks, done, action.parts) / blocks;
    };
    return after(action.part + 1) - after(action.part);
  }
};

/// The costs that a plan is simulated, rehearsed or compared with.
struct Costs {
  std::vector<StageCosts> stages;   ///< by virtual stage
  Nanoseconds transfer = 0;         ///< of one message between two ranks, however long
  Nanoseconds lr = 0;               ///< per rank and step; none in a forward-only plan
  Nanoseconds optimizer = 0;        ///< the same (asynchronous plans: per update)
  Nanoseconds scalarAllReduce = 0;  ///< AGREE, once all ranks have come to it
  /// Bytes a second from one rank to another, in each direction, message after message. 0: any
  /// number of messages at once, none longer than `transfer`.
  double bandwidth = 0;
  Faults faults;

  /// The time of a compute action, without faults. Data-parallel actions have no other than those.
  Nanoseconds timeOf(const Action& action) const {
    if (isDataParallel(action.kind)) return 0;
    const StageCosts& stage = stages[static_cast<std::size_t>(action.stage)];
    switch (action.kind) {
      case JobKind::kForward: return stage.forward;
      case JobKind::kBackward: return stage.timeOfPart(stage.backward, action);
      case JobKind::kBackwardInput: return stage.backwardInput;
      case JobKind::kBackwardWeight: return stage.timeOfPart(stage.backwardWeight, action);
      case JobKind::kRecompute: return stage.recompute;
      case JobKind::kForwardBackward:
        if (stage.forwardBackward >= 0) return stage.forwardBackward;
        return stage.forward + stages[static_cast<std::size_t>(action.backwardStage)].backward;
      default: return 0;
    }
  }

  /// How long a message of that many bytes keeps its link.
  Nanoseconds wireTimeOf(std::int64_t bytes) const {
    if (bandwidth <= 0) return 0;
    return std::llround(static_cast<double>(bytes) / bandwidth * 1e9);
  }

  /// The time of one message from a rank to another, however long.
  Nanoseconds transferBetween(int from, int to) const {
    Nanoseconds time = transfer;
    for (const Faults::Link& link : faults.links) {
      const bool isThis =
          (link.rank == from && link.peer == to) || (link.rank == to && link.peer == from);
      if (isThis) time = link.transfer;
    }
    return time;
  }

  /// Every stage alike.
  static Costs equal(int numStages, StageCosts each) {
    return {.stages = std::vector<StageCosts>(static_cast<std::size_t>(numStages), each)};
  }
};

}  // namespace pipetrace
