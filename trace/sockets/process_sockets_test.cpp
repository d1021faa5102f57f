#include "trace/sockets/process_sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

using Bytes = std::pair<std::uint64_t, std::uint64_t>;

/// A connection over the loopback.
class Pair {
 public:
  const OwnedFd& client() const { return client_; }
  const OwnedFd& server() const { return server_; }

  /// The bytes that count at the client and at the server.
  Bytes moved() const {
    return {bytesMoved([&](int, int otherPort) { return otherPort == port_; }),
            bytesMoved([&](int ownPort, int) { return ownPort == port_; })};
  }
  /// Waits for that, as sides acknowledge a moment later. Returns what it is in the end.
  Bytes movedOnce(const Bytes& expected) const {
    for (int tries = 0; tries < 5000 && moved() != expected; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return moved();
  }

 private:
  OwnedFd listener_ = listenAt("127.0.0.1");
  int port_ = portOf(listener_);
  OwnedFd client_ = connectTo("127.0.0.1", port_, kNsPerSecond);
  OwnedFd server_ = acceptFrom(listener_);
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

// A system counts its connection itself as a byte that was acknowledged.
TEST(ProcessSockets, BytesThatComeAndThatGoCountAlthoughNobodyHasReadThem) {
  const Pair pair;
  ASSERT_TRUE(pair.server().isOpen());
  const auto [client, server] = pair.moved();
  EXPECT_LE(client, 1U);
  EXPECT_LE(server, 1U);
  sendTo(pair.client(), 1000);
  const Bytes first(client + 1000, server + 1000);
  EXPECT_EQ(pair.movedOnce(first), first);
  sendTo(pair.server(), 30);
  sendTo(pair.client(), 5);
  const Bytes second(client + 1035, server + 1035);
  EXPECT_EQ(pair.movedOnce(second), second);
}

TEST(ProcessSockets, ConnectionsThatDoNotCountAddNothing) {
  const Pair counted;
  const Pair other;
  const auto [client, server] = counted.moved();
  sendTo(counted.client(), 7);
  sendTo(other.client(), 100);
  const Bytes expected(client + 7, server + 7);
  EXPECT_EQ(counted.movedOnce(expected), expected);
  EXPECT_EQ(bytesMoved([](int, int) { return false; }), 0U);
}

}  // namespace
}  // namespace pipetrace
