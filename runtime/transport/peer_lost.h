#pragma once

#include <string>

namespace pipetrace {

/// Throws the exception that is being handled as Error "rank 1 gave up <doing>: …". Those of a
/// connection become PeerLost, which names `peer`; a lack of memory is this rank's own.
[[noreturn]] void rethrowAsPeerLost(int rank, const std::string& doing, int peer);

}  // namespace pipetrace
