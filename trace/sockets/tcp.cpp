#include "trace/sockets/tcp.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "trace/sockets/owned_fd.h"

namespace pipetrace {

namespace {

constexpr int kBacklog = 4096;  // the system may allow less

SocketError failure(const std::string& what) {
  const int number = errno;
  return {what + ": " + std::strerror(number), number};
}

std::string placeOf(const std::string& host, int port) {
  return host + (port == 0 ? "" : ", port " + std::to_string(port));
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses addressesOf(const std::string& host, int port, int flags = 0) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) throw SocketError("no host \"" + host + "\": " + gai_strerror(error), 0);
  return Addresses(found);
}

OwnedFd socketFor(const addrinfo& address) {
  return OwnedFd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void switchOn(const OwnedFd& fd, int level, int option) {
  const int on = 1;
  setsockopt(fd.get(), level, option, &on, sizeof on);
}

/// For connections with a few bytes now and then. Each goes at once, and where the network loses
/// them, they are sent again and again after the same short time, not after ever longer ones.
void makePrompt(const OwnedFd& fd) {
  switchOn(fd, IPPROTO_TCP, TCP_NODELAY);
  switchOn(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS);
}

bool isConnected(const OwnedFd& fd, Nanoseconds timeout) {
  pollfd waiting{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  if (poll(&waiting, 1, static_cast<int>(timeout / kNsPerMs)) == 0) errno = ETIMEDOUT;
  if (waiting.revents == 0) return false;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0;
}

/// The address as digits; empty if it is none.
std::string digitsOf(const sockaddr* address) {
  std::array<char, NI_MAXHOST> text{};
  const socklen_t size =
      address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const int error =
      getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text.data() : "";
}

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

}  // namespace

OwnedFd bindAt(const std::string& host, int port) {
  const Addresses addresses = addressesOf(host, port);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    OwnedFd fd = socketFor(*one);
    if (!fd.isOpen()) continue;
    switchOn(fd, SOL_SOCKET, SO_REUSEADDR);
    if (bind(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
  }
  throw failure("cannot use " + placeOf(host, port));
}

OwnedFd listenAt(const std::string& host, int port) {
  OwnedFd fd = bindAt(host, port);
  if (listen(fd.get(), kBacklog) != 0) throw failure("cannot listen at " + placeOf(host, port));
  return fd;
}

int portOf(const OwnedFd& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw failure("a socket has no port");
  }
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

OwnedFd acceptFrom(const OwnedFd& listener) {
  OwnedFd fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.isOpen()) makePrompt(fd);
  return fd;
}

OwnedFd connectTo(const std::string& host, int port, Nanoseconds timeout) {
  const Addresses addresses = addressesOf(host, port);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    OwnedFd fd = socketFor(*one);
    if (!fd.isOpen()) continue;
    const bool done = connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0 ||
                      (errno == EINPROGRESS && isConnected(fd, timeout));
    if (!done) continue;
    makePrompt(fd);
    return fd;
  }
  throw failure("cannot connect to " + placeOf(host, port));
}

std::string addressTowards(const std::string& host, int port) {
  const Addresses addresses = addressesOf(host, port);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    // Nothing is sent: the system only looks up the way.
    const OwnedFd fd(socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    const bool isFound = fd.isOpen() && connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0 &&
                         getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0;
    if (!isFound) continue;
    if (const std::string text = digitsOf(reinterpret_cast<sockaddr*>(&own)); !text.empty()) {
      return text;
    }
  }
  throw failure("there is no way to " + host);
}

std::string addressOfInterface(const std::string& name) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw failure("cannot list the network interfaces");
  const std::unique_ptr<ifaddrs, FreeInterfaces> owner(list);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
      if (name == one->ifa_name) return digitsOf(one->ifa_addr);
    }
  }
  throw SocketError("no network interface \"" + name + "\" has an address", 0);
}

bool isLoopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.") || address.starts_with("::ffff:127.");
}

bool isAddress(const std::string& host) {
  try {
    addressesOf(host, 0, AI_NUMERICHOST);
    return true;
  } catch (const SocketError&) {
    return false;
  }
}

std::string randomToken() {
  std::array<unsigned, 4> bits{};
  if (getrandom(bits.data(), sizeof bits, 0) != sizeof bits) throw failure("no random numbers");
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x%08x%08x", bits[0], bits[1], bits[2], bits[3]);
  return text.data();
}

}  // namespace pipetrace
