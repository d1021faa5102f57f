#pragma once

#include <functional>

#include "runtime/starting_ranks/stop_signal.h"

namespace pipetrace {

/// The frame of a training program's main(): signals, memory that is used again, errors to standard
/// error, exit code. The code is 0: done, 2: failed, 128 + n: stopped by signal n. A
/// signal that has a training saved is that of all ranks (StoppedBySignal).
int engineMain(const std::function<void(StopSignal& stop)>& body);

}  // namespace pipetrace
