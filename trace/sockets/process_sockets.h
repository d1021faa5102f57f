#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// The TCP sockets of this process, whoever opened them. Each call looks at all open files, about a
/// microsecond each. Threads: any; a socket that is opened or closed meanwhile may be missed.

/// The ports at which this process waits for connections.
std::set<int> listeningPorts();

/// The bytes that have gone and come so far over those open connections that count: what the other
/// side's system has acknowledged, and what has come here, read or not.
std::uint64_t bytesMoved(const std::function<bool(int ownPort, int otherPort)>& counts);

/// The user whose program has the other end of a TCP connection over IPv4 within this host. Nothing
/// where the system does not say. Looks at all connections of the host.
std::optional<uid_t> userBehind(const OwnedFd& connection);

}  // namespace pipetrace
