#pragma once

#include <memory>
#include <vector>

#include "runtime/control/control_channel.h"

namespace pipetrace {

/// Control channels of ranks that are threads of one process. A rank that fails names itself; one
/// that stalls is found by the same rules as between processes, by one thread for all.
///
/// `options[i].rank` is i; `limits` and `words` are those of rank 0. Threads: each channel belongs
/// to its rank. Channels may be destroyed in any order.
std::vector<std::unique_ptr<ControlChannel>> makeLocalControl(std::vector<ControlOptions> options);

}  // namespace pipetrace
