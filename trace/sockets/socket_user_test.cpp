#include "trace/sockets/process_sockets.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

using testing::Optional;

/// The listener's next connection.
OwnedFd acceptedFrom(const OwnedFd& listener) {
  pollfd ready{.fd = listener.get(), .events = POLLIN, .revents = 0};
  poll(&ready, 1, 5000);
  return acceptFrom(listener);
}

/// A connection by a socket of IPv6, to an address of IPv4.
OwnedFd connectMapped(int port) {
  OwnedFd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

TEST(SocketUserTest, TheUserOfTheOtherEndIsFound) {
  const OwnedFd listener = listenAt("127.0.0.1");
  const OwnedFd other = connectTo("127.0.0.1", portOf(listener), kNsPerSecond);
  EXPECT_THAT(userBehind(acceptedFrom(listener)), Optional(geteuid()));
  const OwnedFd mapped = connectMapped(portOf(listener));
  if (!mapped.isOpen()) GTEST_SKIP() << "no IPv6";
  EXPECT_THAT(userBehind(acceptedFrom(listener)), Optional(geteuid()));
}

TEST(SocketUserTest, AnotherUserIsNotTakenForThisOne) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as another user";
  constexpr uid_t kNobody = 65534;
  const OwnedFd listener = listenAt("127.0.0.1");
  const pid_t child = fork();
  if (child == 0) {
    const bool isNobody = setuid(kNobody) == 0;
    const OwnedFd other = connectTo("127.0.0.1", portOf(listener), kNsPerSecond);
    char end = 0;
    if (isNobody) static_cast<void>(recv(other.get(), &end, 1, 0));
    pollfd closed{.fd = other.get(), .events = POLLIN, .revents = 0};
    poll(&closed, 1, 5000);
    _exit(0);
  }
  OwnedFd accepted = acceptedFrom(listener);
  EXPECT_THAT(userBehind(accepted), Optional(kNobody));
  accepted.reset();
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace pipetrace
