#pragma once

#include "runtime/control/control_channel.h"
#include "trace/error.h"

namespace pipetrace {

/// The run has failed, and all ranks know why: the text says it.
class RunFailed : public Error {
 public:
  using Error::Error;
};

/// Reports the exception that is being handled to all ranks, and waits until these agree on what
/// ended the run. Throws RunFailed with that. A RunFailed was reported before, and is thrown again.
[[noreturn]] void reportFailure(ControlChannel& control);

}  // namespace pipetrace
