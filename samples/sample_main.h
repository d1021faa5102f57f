#pragma once

#include <functional>

#include "runtime/launch/stop_signal.h"

namespace pipetrace {

/// What the samples' main() do around their work: signals, errors to standard error, exit code: 0
/// done, 2 could not, 128 + n stopped by signal n.
int sampleMain(const std::function<void(StopSignal& stop)>& body);

}  // namespace pipetrace
