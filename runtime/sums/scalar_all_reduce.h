#pragma once

#include "runtime/device/rank_device.h"
#include "runtime/program/rank_program.h"
#include "runtime/rank_messages.h"
#include "runtime/record/recorded_streams.h"
#include "runtime/stage_work.h"

namespace pipetrace {

/// The sum over all ranks before the optimizer's step (ScalarTerms::agrees()). The numbers of all
/// stages go to rank 0. It adds them in the order of stages, so the bits of the sum do not depend
/// on the number of ranks. All others wait to hear the sum.
///
/// It records an `all_reduce` of all ranks, from when this rank has come to it until it has heard.
///
/// Threads: the compute thread.
class ScalarAllReduce {
 public:
  /// All must outlive it. `planned` and `device` may be null.
  ScalarAllReduce(const RankProgram& program, ScalarTerms& work, RankMessages& messages,
                  const RecordedStreams& recorded, PlannedTransfers* planned, RankDevice* device);

  /// After the gradients of all ranks of a stage were added up. Does nothing where the program has
  /// none.
  void run(int step);

 private:
  double sumOfAll(const RankProgram::ScalarAllReduce& own, int step);
  Nanoseconds plannedEnd(const RankProgram::ScalarAllReduce& own, int step);

  const RankProgram& program_;
  ScalarTerms& work_;
  RankMessages& messages_;
  const RecordedStreams recorded_;
  PlannedTransfers* const planned_;
  RankDevice* const device_;
  const char* members_ = nullptr;  // the recorder's own text
};

}  // namespace pipetrace
