#pragma once

#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/program/rank_program.h"
#include "runtime/rank_messages.h"
#include "runtime/record/recorded_streams.h"
#include "runtime/stage_work.h"

namespace pipetrace {

/// Adds up the gradients of stages that stand on several ranks, and of weights that several stages
/// have in common. A stage's sums leave where the plan has its last reduction, while the rank goes
/// on, and are added after the last action of the step. In line, and where a send waits for its
/// receive, they leave only after that action. In a plan without a flush they leave where the plan
/// has the reduction of an update, and are added before that.
///
/// It records each as an `all_reduce`, from when this rank's sums are made until those of all ranks
/// have come. On a device it lasts until they are added.
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
  /// After the last action.
  void addUp();
  /// Before the update that takes the sums of that reduction.
  void addUp(int reduction);

 private:
  /// A reduction in this step.
  struct State {
    bool hasBegun = false;
    DeviceStream::Mark begin = 0;  // planned: a time
  };

  void begin(int reduction);
  void addUpCopies(const RankProgram::Copies& copies, int reduction);
  void addUpPlanned(const RankProgram::Copies& copies);
  Nanoseconds endPlanned(const RankProgram::Copies& copies, int reduction, Nanoseconds before);
  void addUpTies();
  DeviceStream::Mark mark();
  bool records() const { return recorded_.recorder != nullptr && recorded_.recorder->isOn(); }
  void record(const RankProgram::Copies& copies, DeviceStream::Mark begin, DeviceStream::Mark end,
              std::int64_t bytes);
  const RankProgram::Copies& copiesOf(int reduction) const;

  const RankProgram& program_;
  StageWork& work_;
  RankMessages& messages_;
  const RecordedStreams recorded_;
  PlannedTransfers* const planned_;
  RankDevice* const device_;
  std::vector<const char*> members_;  // by copies: the recorder's own texts
  std::vector<State> states_;         // by reduction
  int step_ = 0;
};

}  // namespace pipetrace
