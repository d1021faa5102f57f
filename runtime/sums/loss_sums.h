#pragma once

#include "runtime/program/rank_program.h"
#include "runtime/rank_messages.h"
#include "runtime/stage_work.h"

namespace pipetrace {

/// Ends a step whose last stage is on several ranks. They say their figures to the first of them,
/// which adds them in the order of ranks (StepFigures::takeSums()). Does nothing on other ranks,
/// and where there are no figures: gradients bring the loss along.
///
/// `rows`: those of this rank's batch. Threads: the compute thread. It waits for the device.
void addUpLosses(const RankProgram& program, StepFigures& work, std::int64_t rows,
                 RankMessages& messages, int step);

}  // namespace pipetrace
