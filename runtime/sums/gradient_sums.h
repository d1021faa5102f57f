#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/program/rank_program.h"
#include "runtime/rank_messages.h"
#include "runtime/record/recorded_streams.h"
#include "runtime/stage_work.h"

namespace pipetrace {

/// One of the buckets into which the gradients of a stage are cut.
struct GradientBucket {
  int stage = 0;
  int number = 0;  ///< from 0
  int of = 1;      ///< how many there are
  /// Whether it has the parameters of the blocks of that part of the last backward
  /// (blocksOfPart()).
  bool isOfPart = false;
};

/// The gradients of stages that stand on several ranks. A bucket is a tensor of bytes on the rank's
/// device, whose layout is the same on all ranks of the stage. Each rank adds up a part of it.
///
/// Threads: the compute thread.
class GradientBuckets {
 public:
  /// Buckets are as long as a multiple of that, and may be cut at its multiples.
  static constexpr std::int64_t kUnit = 16;

  virtual ~GradientBuckets() = default;

  /// Copies this rank's gradients into a new bucket. They are views of it from then on.
  virtual at::Tensor fill(const GradientBucket& bucket) = 0;
  /// The sum of one part of the bucket over all ranks: `parts` are theirs, in the order of ranks,
  /// and begin at `first`. A tensor of its own.
  virtual at::Tensor addUp(const GradientBucket& bucket, std::int64_t first,
                           const std::vector<at::Tensor>& parts) = 0;
  /// The tensor that fill() has returned now holds the sums of all ranks.
  virtual void summed(const GradientBucket& bucket) = 0;
};

/// Adds up the gradients of stages that stand on several ranks, and of weights that several stages
/// have in common.
///
/// Where the plan has a reduction, the rank's gradients become a bucket. Each of n ranks of the
/// stage adds up its nth of it, in the order of ranks, and sends the others the sum. So it sends
/// 2 (n - 1) / n of the bucket's bytes, and gets as many. The rank goes on meanwhile. Between its
/// jobs it looks what has come, and adds it up; it waits for the rest after the last action of the
/// step. In line, and where a send waits for its receive, nothing leaves before that. In a plan
/// without a flush each update has a reduction, and the rank waits for the rest right before it.
///
/// It records each as an `all_reduce`, from when this rank's bucket is filled until it holds the
/// sums of all ranks: on the CPU until the last part has come.
///
/// Threads: the compute thread.
class GradientSums {
 public:
  /// All must outlive it. `planned` and `device` may be null.
  GradientSums(const RankProgram& program, StageWork& work, RankMessages& messages,
               const RecordedStreams& recorded, PlannedTransfers* planned, RankDevice* device);

  /// Before the first action: compares the rows of all replicas. Throws Error where they differ.
  void beginStep(int step);
  /// The rank has come to that reduction of its program.
  void reduce(int reduction);
  /// Between jobs: does what needs no wait.
  void goOn() {
    if (underWay_ > 0 && planned_ == nullptr) doWhatHasCome();
  }
  /// After the last action.
  void addUp();
  /// Before the update that takes the sums of that reduction.
  void addUp(int reduction);

 private:
  using Round = RankProgram::Round;
  using Exchange = RankProgram::Exchange;

  /// A reduction in this step.
  struct State {
    bool isReached = false;
    at::Tensor bucket;
    DeviceStream::Mark begin = 0;
    Nanoseconds planned = 0;       // on an emulated device: when it was planned to begin
    DeviceStream::Mark added = 0;  // this rank's part
  };
  /// A part of a bucket, in bytes.
  struct Part {
    std::int64_t first = 0;
    std::int64_t size = 0;
  };

  bool takesPart(int reduction) const;
  void requireAlike(int stage, int peer, const Part& part, const at::Tensor& come) const;
  void doWhatHasCome();
  void advance(bool waits);
  void finishUntil(std::size_t exchange, bool waits);
  void sendParts(const Exchange& exchange);
  void addPart(const Exchange& exchange);
  void finish(const Exchange& exchange);
  void addUpPlanned(const RankProgram::StageReplicas& replicas);
  Nanoseconds endPlanned(int reduction, Nanoseconds before);
  void addUpTies();
  Part partOf(int reduction, std::size_t member) const;
  std::size_t ownMember(int reduction) const;
  GradientBucket bucketOf(int reduction) const;
  DeviceStream::Mark mark();
  void record(const RankProgram::StageReplicas& replicas, DeviceStream::Mark begin,
              DeviceStream::Mark end, std::int64_t bytes);
  const RankProgram::StageReplicas& replicasOf(int reduction) const;
  State& at(int reduction) { return states_[static_cast<std::size_t>(reduction)]; }

  const RankProgram& program_;
  StageWork& work_;
  RankMessages& messages_;
  const RecordedStreams recorded_;
  PlannedTransfers* const planned_;
  RankDevice* const device_;
  GradientBuckets* const buckets_;
  std::vector<const char*> members_;  // by stage replicas: the recorder's own texts
  std::vector<State> states_;         // by reduction
  // The first of the program's exchanges that has not begun, and the first not done with.
  std::size_t next_ = 0;
  std::size_t finished_ = 0;
  int underWay_ = 0;  // reductions that are reached and not done with
  bool isEarly_ = false;
  int step_ = 0;
};

}  // namespace pipetrace
