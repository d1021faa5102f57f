#pragma once

#include <exception>
#include <string>

#include "runtime/control/control_channel.h"
#include "trace/error.h"

namespace pipetrace {

/// The text of an error for users. LibTorch's what() has a backtrace, which this leaves out.
std::string errorText(const std::exception& error);
/// The same, of any exception: "unknown error" where it has no text. Not for null.
std::string errorText(const std::exception_ptr& error);
/// The first line of errorText(), for a sentence that goes on.
std::string firstLineOf(const std::exception& error);

/// The run has failed, and all ranks know why: the text says it.
class RunFailed : public Error {
 public:
  using Error::Error;
};

/// Reports the exception that is being handled to all ranks, and waits until these agree on what
/// ended the run. Throws RunFailed with that. A RunFailed was reported before, and is thrown again.
[[noreturn]] void reportFailure(ControlChannel& control);

/// Throws the exception that is being handled as Error "rank 1 gave up <doing>: …". Those of a
/// connection become PeerLost, which names `peer`; a lack of memory is this rank's own.
[[noreturn]] void rethrowAsPeerLost(int rank, const std::string& doing, int peer);

}  // namespace pipetrace
