#include "runtime/control/control_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "trace/error.h"

namespace pipetrace {

namespace {

constexpr int kBacklog = 512;

Error socketError(const std::string& what) {
  return Error("control connection: " + what + ": " + std::strerror(errno));
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses addressesOf(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) {
    throw Error("control connection: no host \"" + host + "\": " + gai_strerror(error));
  }
  return Addresses(found);
}

OwnedFd socketFor(const addrinfo& address) {
  return OwnedFd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void sendAtOnce(const OwnedFd& fd) {
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
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

}  // namespace

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void OwnedFd::reset() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

OwnedFd listenAt(const std::string& host) {
  const Addresses addresses = addressesOf(host, 0);
  OwnedFd fd = socketFor(*addresses);
  if (!fd.isOpen() || bind(fd.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    throw socketError("cannot listen at " + host);
  }
  return fd;
}

int portOf(const OwnedFd& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw socketError("cannot tell the port");
  }
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

OwnedFd acceptFrom(const OwnedFd& listener) {
  OwnedFd fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.isOpen()) sendAtOnce(fd);
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
    sendAtOnce(fd);
    return fd;
  }
  throw socketError("cannot connect to " + host + ", port " + std::to_string(port));
}

std::string addressTowards(const std::string& host, int port) {
  const Addresses addresses = addressesOf(host, port);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    // Nothing is sent: the system only looks up the way.
    const OwnedFd fd(socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    const bool isFound = fd.isOpen() && connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0 &&
                         getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
                         getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(),
                                     text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
    if (isFound) return text.data();
  }
  throw socketError("there is no way to " + host);
}

void ControlSocket::send(const std::string& bytes) {
  if (!isOpen()) return;
  unsent_ += bytes;
  flush();
}

void ControlSocket::flush() {
  while (isOpen() && !unsent_.empty()) {
    const ssize_t sent = ::send(fd(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) unsent_.clear();  // receive() finds the end
    if (sent <= 0) return;
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

bool ControlSocket::receive() {
  std::array<char, 4096> bytes{};
  while (isOpen()) {
    const ssize_t size = recv(fd(), bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    if (size <= 0) return false;
    received_.append(bytes.data(), static_cast<std::size_t>(size));
  }
  return false;
}

void ControlSocket::endSending() {
  if (isOpen()) shutdown(fd(), SHUT_WR);
}

}  // namespace pipetrace
