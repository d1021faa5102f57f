#include "trace/sockets/tcp.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <cerrno>
#include <set>

#include "trace/sockets/owned_fd.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

int errorNumberOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const SocketError& e) {
    return e.number();
  }
  return -1;
}

TEST(Tcp, APortThatIsHeldIsGivenToNobodyWhoTakesAny) {
  const OwnedFd held = bindAt("127.0.0.1");
  std::set<int> others;
  std::vector<OwnedFd> open;
  for (int i = 0; i < 2000; ++i) {
    open.push_back(bindAt("127.0.0.1"));
    others.insert(portOf(open.back()));
    if (i % 400 == 399) open.clear();
  }
  EXPECT_FALSE(others.contains(portOf(held)));
}

TEST(Tcp, AnotherProgramThatAsksForAHeldPortCanListenThereAndThenNobodyElse) {
  const OwnedFd held = bindAt("127.0.0.1");
  const int port = portOf(held);
  const OwnedFd serving = listenAt("127.0.0.1", port);
  EXPECT_TRUE(connectTo("127.0.0.1", port, kNsPerSecond).isOpen());
  EXPECT_EQ(errorNumberOf([&] { bindAt("127.0.0.1", port); }), EADDRINUSE);
}

TEST(Tcp, ErrorsNameThePlace) {
  EXPECT_EQ(errorNumberOf([] { bindAt("198.51.100.2"); }), EADDRNOTAVAIL);
  const int port = portOf(listenAt("127.0.0.1"));
  try {
    connectTo("127.0.0.1", port, kNsPerSecond);
    FAIL() << "nobody listens there any more";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("cannot connect to 127.0.0.1, port "));
    EXPECT_THAT(e.what(), HasSubstr(": Connection refused"));
  }
  EXPECT_THROW(bindAt("no host of this name"), SocketError);
}

TEST(Tcp, TheAddressTowardsThisHostIsALoopbackOne) {
  EXPECT_TRUE(isLoopback(addressTowards("127.0.0.1", 1)));
  EXPECT_TRUE(isLoopback(addressTowards("localhost", 1)));
  EXPECT_TRUE(isLoopback(addressOfInterface("lo")));
  EXPECT_THROW(addressOfInterface("none of that name"), SocketError);
}

TEST(Tcp, KnowsAddressesFromNames) {
  for (const char* const address : {"127.0.0.1", "127.0.1.1", "::1"}) {
    EXPECT_TRUE(isAddress(address)) << address;
    EXPECT_TRUE(isLoopback(address)) << address;
  }
  EXPECT_TRUE(isAddress("10.0.0.1"));
  EXPECT_FALSE(isLoopback("10.0.0.1"));
  EXPECT_FALSE(isAddress("localhost"));
}

TEST(Tcp, TokensAreLongAndNeverTheSame) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(randomToken());
  EXPECT_EQ(tokens.size(), 100U);
  EXPECT_EQ(tokens.begin()->size(), 32U);
}

}  // namespace
}  // namespace pipetrace
