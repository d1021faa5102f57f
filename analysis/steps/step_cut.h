#pragma once

#include "trace/track.h"

namespace pipetrace {

/// Gives the jobs of one compute lane (sorted) the steps that the log did not give. Where it gave
/// some, the others get that of the job before them. Where it gave none, steps are counted from
/// `first` as PaddlePaddle's script counts them: the type of the first job that is not `default`
/// opens a step each time it comes with micro-batch 0; `recv_forward` and `send_backward` do not
/// count. Returns whether steps were cut in this way.
bool giveSteps(Track& compute, std::int32_t first = 0);

}  // namespace pipetrace
