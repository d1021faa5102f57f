#pragma once

#include <string>

#include "trace/nanoseconds.h"
#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// TCP over IPv4 and IPv6. A host is a name or an address; where a name has several addresses, the
/// first that works counts. All sockets are closed in programs that the process starts.

/// A socket at `port` of `host`, an address of this host, where nobody can connect yet. Port 0: any
/// that is free. As long as it is open the system gives the port to no program that takes any, but
/// other programs may bind this one, too. Throws SocketError, whose number is EADDRINUSE
/// where somebody listens there, and EADDRNOTAVAIL where the address is not one of this host.
OwnedFd bindAt(const std::string& host, int port = 0);
/// The same, and waits for connections; non-blocking.
OwnedFd listenAt(const std::string& host, int port = 0);
/// The port of a socket.
int portOf(const OwnedFd& socket);

/// The next connection, non-blocking; not open if there is none now, or no room for it.
OwnedFd acceptFrom(const OwnedFd& listener);
/// A connection to a socket that listens, non-blocking. Throws SocketError if there is none within
/// `timeout`.
OwnedFd connectTo(const std::string& host, int port, Nanoseconds timeout);

/// The address of this host, as text, from which it reaches that one. Throws SocketError if it does
/// not.
std::string addressTowards(const std::string& host, int port);
/// The address of a network interface of this host ("eth0"), as text, IPv4 before IPv6. Throws
/// SocketError if it has none.
std::string addressOfInterface(const std::string& name);
/// Whether only this host can reach the address, which is text of digits.
bool isLoopback(const std::string& address);
/// Whether the text is an address of digits, not a name.
bool isAddress(const std::string& host);

/// 128 random bits as text, which a stranger cannot guess.
std::string randomToken();

}  // namespace pipetrace
