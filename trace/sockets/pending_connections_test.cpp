#include "trace/sockets/pending_connections.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <string>

#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Nanoseconds kEnough = 10 * kNsPerSecond;

/// A newcomer that says "friend" is one.
PendingConnections::Answer judge(std::string& received) {
  const std::string word = "friend";
  if (received.compare(0, std::min(received.size(), word.size()), word, 0,
                       std::min(received.size(), word.size())) != 0) {
    return PendingConnections::Answer::kRefuse;
  }
  if (received.size() < word.size()) return PendingConnections::Answer::kWait;
  received.erase(0, word.size());
  return PendingConnections::Answer::kAdmit;
}

class PendingConnectionsTest : public ::testing::Test {
 protected:
  OwnedFd come(const std::string& says = {}) const {
    OwnedFd fd = connectTo("127.0.0.1", portOf(listener_), kEnough);
    say(fd, says);
    return fd;
  }
  static void say(const OwnedFd& fd, const std::string& text) {
    EXPECT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  std::vector<PendingConnections::Admitted> admit(PendingConnections& newcomers,
                                                  Nanoseconds now = 0) const {
    return newcomers.admit(listener_, now, judge);
  }
  static bool isClosed(const OwnedFd& fd) {
    pollfd waiting{.fd = fd.get(), .events = POLLRDHUP, .revents = 0};
    return poll(&waiting, 1, 5000) == 1;
  }
  /// The system has what was sent before it says that it has more.
  void awaitArrivals(const PendingConnections& newcomers) const {
    std::vector<pollfd> waiting;
    newcomers.addTo(waiting);
    for (pollfd& one : waiting) poll(&one, 1, 5000);
  }

  OwnedFd listener_ = listenAt("127.0.0.1");
};

TEST_F(PendingConnectionsTest, ANewcomerThatSaysTheRightThingIsAdmittedWithWhatItSaidAfterwards) {
  PendingConnections newcomers;
  const OwnedFd friendly = come("friend, hello");
  const auto admitted = admit(newcomers);
  ASSERT_THAT(admitted, SizeIs(1));
  EXPECT_EQ(admitted[0].received, ", hello");
  EXPECT_EQ(newcomers.size(), 0U);
}

TEST_F(PendingConnectionsTest, OneThatSaysItInPiecesIsWaitedFor) {
  PendingConnections newcomers;
  const OwnedFd slow = come("fri");
  EXPECT_THAT(admit(newcomers), IsEmpty());
  EXPECT_EQ(newcomers.size(), 1U);
  say(slow, "end");
  awaitArrivals(newcomers);
  EXPECT_THAT(admit(newcomers), SizeIs(1));
}

TEST_F(PendingConnectionsTest, ANewcomerThatSaysSomethingElseIsClosed) {
  PendingConnections newcomers;
  const OwnedFd stranger = come("GET / HTTP/1.1");
  EXPECT_THAT(admit(newcomers), IsEmpty());
  EXPECT_TRUE(isClosed(stranger));
}

TEST_F(PendingConnectionsTest, ASilentNewcomerIsClosedWhenItsTimeIsOver) {
  PendingConnections newcomers({.patience = 100});
  const OwnedFd silent = come();
  admit(newcomers, 1000);
  admit(newcomers, 1099);
  EXPECT_EQ(newcomers.size(), 1U);
  admit(newcomers, 1100);
  EXPECT_EQ(newcomers.size(), 0U);
  EXPECT_TRUE(isClosed(silent));
}

TEST_F(PendingConnectionsTest, TheNewestAreKeptWhereTooManyCome) {
  PendingConnections newcomers({.most = 2});
  const OwnedFd first = come();
  const OwnedFd second = come();
  const OwnedFd third = come();
  admit(newcomers);
  EXPECT_EQ(newcomers.size(), 2U);
  EXPECT_TRUE(isClosed(first));
  say(second, "friend");
  say(third, "friend");
  awaitArrivals(newcomers);
  EXPECT_THAT(admit(newcomers), SizeIs(2));
}

TEST_F(PendingConnectionsTest, NoMoreIsReadThanOneMaySend) {
  PendingConnections newcomers({.longest = 6});
  const OwnedFd friendly = come("friend, and a question");
  const auto admitted = admit(newcomers);
  ASSERT_THAT(admitted, SizeIs(1));
  EXPECT_EQ(admitted[0].received, "");
  std::string rest(100, ' ');
  rest.resize(static_cast<std::size_t>(recv(admitted[0].fd.get(), rest.data(), rest.size(), 0)));
  EXPECT_EQ(rest, ", and a question");
  PendingConnections shortOnes({.longest = 3});
  const OwnedFd endless = come("friend");
  EXPECT_THAT(admit(shortOnes), IsEmpty());
  EXPECT_TRUE(isClosed(endless)) << "it still would have to wait";
}

TEST_F(PendingConnectionsTest, ANewcomerThatLeavesIsForgotten) {
  PendingConnections newcomers;
  { const OwnedFd leaves = come("fri"); }
  admit(newcomers);
  awaitArrivals(newcomers);
  admit(newcomers);
  EXPECT_EQ(newcomers.size(), 0U);
}

}  // namespace
}  // namespace pipetrace
