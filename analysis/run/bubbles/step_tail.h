#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/run/bubbles/binding_paths.h"

namespace pipetrace {

/// The part of a step's window after the step's last compute job, walked back from the event that
/// ends the window. Jobs and collectives explain their own times. The first compute job on the way
/// ends the walk: the rest is a wait for that job, in another pipeline mostly. All times together
/// are those from the last compute job's end to the window's.
struct StepTail {
  using Id = JobGraph::Id;

  struct Part {
    Nanoseconds time = 0;
    Nanoseconds largest = 0;
    Id cause = JobGraph::kNone;  ///< the job or collective with the largest share

    void add(Nanoseconds more, Id node);
  };

  /// By causeIndex(). Jobs that are no compute jobs have their class; so do collectives, kSync from
  /// their last members on. Collectives that began later than their last input are kLateStart.
  /// Those with members that no log has are kUnknown.
  std::array<Part, kCauses.size()> parts;
  Part wait;  ///< for the compute job that is its cause

  Part& of(BubbleClass cause) { return parts[causeIndex(cause)]; }
  const Part& of(BubbleClass cause) const { return parts[causeIndex(cause)]; }
};

/// `lastCompute`: the compute job of the step that ended last; `last`: the event that ended its
/// window, which ends at `end`.
StepTail tailOf(const JobGraph& graph, const BindingPaths& paths, JobGraph::Id lastCompute,
                JobGraph::Id last, Nanoseconds end);

/// The path of a job, itself included, as all ranks see it that are not on it. Many windows end
/// with a wait for the same job.
struct WaitPath {
  Collected collected;
  std::vector<std::uint32_t> ranks;  ///< of its jobs, ascending
  bool isWhole = true;               ///< false: it is longer, each rank has to follow it
  Collected ofStep;                  ///< of its nodes from the last one back to its step's begin
  JobGraph::Id opening = JobGraph::kNone;  ///< the first compute job of its pipeline's step
  /// When the rank of `opening` was done with what it had to do before; kNsMin: nobody knows, as in
  /// the first step of a run.
  Nanoseconds couldOpen = kNsMin;
  Collected loads;    ///< what it loaded since then
  Collected updates;  ///< by how much the optimizer before that is longer than its pipeline's usual
};
WaitPath waitPathOf(const JobGraph& graph, const BindingPaths& paths, JobGraph::Id job);

}  // namespace pipetrace
