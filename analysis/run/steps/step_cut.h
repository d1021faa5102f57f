#pragma once

#include <span>

#include "trace/track.h"

namespace pipetrace {

/// Gives the jobs of one compute lane (sorted), or of a part of it, the steps that the log did not
/// give. If it gave some, other jobs get the step of the job before them. If it gave none, steps
/// are counted from `first` as PaddlePaddle's script counts them. The first job that is not
/// `default` sets a type; each job of this type with micro-batch 0 opens a step. `recv_forward` and
/// `send_backward` jobs do not count.
///
/// Jobs of traces name stages and no chunks, and a rank may have no micro-batch 0 of a stage
/// (DualPipe). There each forward of the first forward's stage opens a step that has the lowest
/// micro-batch of these.
///
/// Returns whether steps were counted.
bool giveSteps(std::span<Event> jobs, std::int32_t first = 0);

}  // namespace pipetrace
