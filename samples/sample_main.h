#pragma once

#include <functional>

#include "runtime/launch/stop_signal.h"

namespace pipetrace {

/// The frame of the samples' main(): signals, errors to standard error, exit code. The code is 0:
/// done, 2: failed, 128 + n: stopped by signal n.
int sampleMain(const std::function<void(StopSignal& stop)>& body);

}  // namespace pipetrace
