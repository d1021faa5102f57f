#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trace/event.h"
#include "trace/job_kind.h"
#include "trace/nanoseconds.h"
#include "trace/strings/string_table.h"

namespace pipetrace {

/// An operator of a rank's host that lies in no other operator.
struct HostOperator {
  static constexpr std::int64_t kNoNumber = -1;
  static constexpr std::int32_t kNoJob = -1;

  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  /// Its `Sequence number`: that of an operator of a backward is the one of the forward's operator
  /// that it is the backward of.
  std::int64_t number = kNoNumber;
  std::int32_t annotated = kNoJob;  ///< the annotated job around it, see HostFacts::annotated
  StringId name = 0;
  bool isBackward = false;  ///< autograd's engine runs it
};

/// The facts about the host of a rank that every trace of torch.profiler has. Times are the rank's.
struct HostFacts {
  /// Operators of the thread that runs forwards and of autograd's, by begin. The thread waits while
  /// autograd runs, so they follow each other as if they were of one thread. Those of the
  /// optimizer, of the data loader and of torch.distributed are left out.
  std::vector<HostOperator> operators;
  /// Ascending times at which a job cannot go on: a message was posted, the wait for one was over,
  /// an optimizer or a training step began or ended.
  std::vector<Nanoseconds> cuts;
  std::vector<Nanoseconds> collectives;  ///< ascending begins of operators of torch.distributed
  bool hasMessages = false;
  /// The kinds of the jobs that are annotated, by number.
  std::vector<JobKind> annotated;
};

/// A job that was found, or an annotated one that has to do with it.
struct FoundJob {
  Nanoseconds begin = 0;  ///< of its first operator
  Nanoseconds end = 0;    ///< of its last one
  JobKind kind = JobKind::kForward;
  /// The forward pass that it is, or whose backward it is. Forwards count from 0 in their order.
  /// kNoPass: the trace lacks the forward.
  std::int32_t pass = kNoPass;
  /// The forward pass whose backward a fused pair runs. Its `pass` is the one that it runs.
  std::int32_t backwardPass = kNoPass;
  /// Which forwards have the same operators: the number of their pattern, in the order in which
  /// patterns appear. That of a backward is its forward's.
  std::int32_t pattern = 0;
  std::int32_t annotated = HostOperator::kNoJob;  ///< its number where an annotation names it

  static constexpr std::int32_t kNoPass = -1;
};

/// The jobs of a rank.
struct FoundJobs {
  std::vector<FoundJob> jobs;  ///< by begin; they do not overlap
  /// Runs of operators that are as long as a forward, and that nothing shows to be one.
  std::int64_t runsUnplaced = 0;
  Nanoseconds unplacedTime = 0;
  /// Parts of forwards and parts of other ones' backwards take turns, and do not tell which jobs
  /// they are. Then there are none.
  bool areTurns = false;
};

/// Finds the jobs of a rank.
///
/// A forward is a run of operators between two cuts that a backward refers to by number, and any
/// other run of the same operators. A backward is the work of autograd without a break. The engine
/// takes the operator with the highest number next, so a number that rises begins another call. A
/// call that goes from one forward's numbers to another's is the backward of both. A run of
/// operators is cut where the numbers of different calls do not overlap. Operators before or behind
/// those that other micro-batches have are no part of a job. A forward with several backwards has
/// an input half and weight halves.
///
/// Where the host runs parts of a forward and parts of another one's backward in turn, both are one
/// fused pair. A backward goes on from a part of its forward to the part before it; where it does
/// not, another backward begins. A message ends it as well, unless it has only a small part on one
/// side of it. A forward and a backward that take turns do so with no other. Where they do, or
/// where parts contradict each other, no job is found (FoundJobs::areTurns).
///
/// Where no backward refers to a forward and there are messages, forwards are the runs between cuts
/// that take most of the time.
///
/// Source: torch/csrc/autograd/engine.cpp (the order of a ready queue) and function.h (sequence
/// numbers). O(n log n) in the operators.
FoundJobs findJobs(const HostFacts& facts);

/// The numbers of a found job, as far as its rank alone gives them.
struct JobNumbers {
  std::int32_t step = kNotGiven;
  /// The place of its forward among those of the step, from 0. Backwards whose forward is not known
  /// by number are those of the step's other forwards in their order, if there are as many; else
  /// they have kNotGiven.
  std::int32_t microBatch = kNotGiven;
  std::int32_t backwardMicroBatch = kNotGiven;  ///< of a fused pair: that of its backward
};

/// Numbers jobs by their order. `stepAt`: the step at a time, or kNotGiven. Where it knows none,
/// steps count from 0, and the next one begins after each optimizer; `optimizers`: their begins,
/// ascending.
std::vector<JobNumbers> numberByOrder(const std::vector<FoundJob>& jobs,
                                      const std::function<std::int32_t(Nanoseconds)>& stepAt,
                                      std::span<const Nanoseconds> optimizers);

}  // namespace pipetrace
