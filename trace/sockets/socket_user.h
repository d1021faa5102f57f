#pragma once

#include <sys/types.h>

#include <optional>

#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// The user whose program has the other end of a TCP connection over IPv4 within this host. Nothing
/// where the system does not say. Looks at all connections of the host.
std::optional<uid_t> userBehind(const OwnedFd& connection);

}  // namespace pipetrace
