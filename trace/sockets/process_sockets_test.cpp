#include "trace/sockets/process_sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

/// A connection over the loopback.
struct Pair {
  OwnedFd listener = listenAt("127.0.0.1");
  int port = portOf(listener);
  OwnedFd client = connectTo("127.0.0.1", port, kNsPerSecond);
  OwnedFd server = acceptFrom(listener);

  std::uint64_t movedByClient() const {
    return bytesMoved([&](int, int otherPort) { return otherPort == port; });
  }
  std::uint64_t movedByServer() const {
    return bytesMoved([&](int ownPort, int) { return ownPort == port; });
  }
};

void sendTo(const OwnedFd& socket, std::size_t bytes) {
  const std::string text(bytes, 'x');
  ASSERT_EQ(send(socket.get(), text.data(), text.size(), 0), static_cast<ssize_t>(bytes));
}

TEST(ProcessSockets, APortIsListedWhileItsSocketListens) {
  const OwnedFd bound = bindAt("127.0.0.1");
  EXPECT_FALSE(listeningPorts().contains(portOf(bound)));
  OwnedFd listener = listenAt("127.0.0.1");
  OwnedFd other = listenAt("127.0.0.1");
  const int port = portOf(listener);
  EXPECT_TRUE(listeningPorts().contains(port));
  EXPECT_TRUE(listeningPorts().contains(portOf(other)));
  listener.reset();
  EXPECT_FALSE(listeningPorts().contains(port));
}

// A system counts its connection itself as one byte that was acknowledged.
TEST(ProcessSockets, BytesThatComeAndThatGoCountAlthoughNobodyHasReadThem) {
  const Pair pair;
  ASSERT_TRUE(pair.server.isOpen());
  const std::uint64_t atClient = pair.movedByClient();
  const std::uint64_t atServer = pair.movedByServer();
  EXPECT_LE(atServer, 1U);
  sendTo(pair.client, 1000);
  EXPECT_EQ(pair.movedByServer(), atServer + 1000);
  EXPECT_EQ(pair.movedByClient(), atClient + 1000);
  sendTo(pair.server, 30);
  sendTo(pair.client, 5);
  EXPECT_EQ(pair.movedByServer(), atServer + 1035);
  EXPECT_EQ(pair.movedByClient(), atClient + 1035);
}

TEST(ProcessSockets, ConnectionsThatDoNotCountAddNothing) {
  const Pair counted;
  const Pair other;
  const std::uint64_t before = counted.movedByServer();
  sendTo(counted.client, 7);
  sendTo(other.client, 100);
  EXPECT_EQ(counted.movedByServer(), before + 7);
  EXPECT_EQ(bytesMoved([](int, int) { return false; }), 0U);
}

}  // namespace
}  // namespace pipetrace
