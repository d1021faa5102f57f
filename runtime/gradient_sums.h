#pragma once

#include "runtime/rank_messages.h"
#include "runtime/rank_program.h"
#include "runtime/stage_work.h"

namespace pipetrace {

/// Adds up the gradients of stages that stand on several ranks, and of weights that several stages
/// have in common, after the last action of a step. All must outlive it.
///
/// Threads: the compute thread.
class GradientSums {
 public:
  GradientSums(const RankProgram& program, StageWork& work, RankMessages& messages)
      : program_(program), work_(work), messages_(messages) {}

  /// Before the first action: compares the rows of all replicas. Throws Error where they differ.
  void beginStep(int step);
  void addUp(int step);

 private:
  void addUpCopies(int step);
  void addUpTies(int step);

  const RankProgram& program_;
  StageWork& work_;
  RankMessages& messages_;
};

}  // namespace pipetrace
