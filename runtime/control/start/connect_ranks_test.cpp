#include "runtime/control/start/connect_ranks.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>

#include "runtime/control/start/links.h"
#include "runtime/control/steady_time.h"
#include "runtime/control/testing/memory_key_value.h"
#include "runtime/control/verdict/control_message.h"
#include "runtime/testing/error_of.h"
#include "trace/error.h"
#include "trace/sockets/tcp.h"
#include "trace/testing/deaf_listener.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::EndsWith;
using testing::errorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryKeyValue;
using ::testing::StartsWith;

constexpr Nanoseconds kEnough = 20 * kNsPerSecond;

struct Met {
  std::vector<std::vector<ControlSocket>> sockets;  // by rank
  std::vector<std::string> errors;
};

/// These ranks of `worldSize` meet, each on a thread.
Met meet(MemoryKeyValue& store, int worldSize, const std::vector<int>& ranks,
         Nanoseconds timeout = kEnough) {
  const auto size = static_cast<std::size_t>(worldSize);
  Met met{.sockets = std::vector<std::vector<ControlSocket>>(size),
          .errors = std::vector<std::string>(size)};
  std::vector<std::thread> threads;
  for (const int rank : ranks) {
    threads.emplace_back([&, rank] {
      const auto i = static_cast<std::size_t>(rank);
      met.errors[i] = errorOf([&] {
        RunStart start(store, rank, worldSize, timeout);
        met.sockets[i] = meetRanks({.rank = rank,
                                    .worldSize = worldSize,
                                    .neighbours = linksOf(rank, worldSize).neighbours},
                                   start);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return met;
}

void pauseMs(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

std::string arrivedAt(ControlSocket& socket) {
  const Nanoseconds end = steadyTime() + kEnough;
  while (socket.received().empty() && steadyTime() < end) {
    socket.receive();
    pauseMs(1);
  }
  return socket.received();
}

void expectConnected(Met& met) {
  EXPECT_THAT(met.errors, Each(IsEmpty()));
  for (std::size_t a = 0; a < met.sockets.size(); ++a) {
    ASSERT_EQ(met.sockets[a].size(), met.sockets.size()) << "rank " << a;
    EXPECT_FALSE(met.sockets[a][a].isOpen());
    for (std::size_t b = 0; b < met.sockets.size(); ++b) {
      if (a == b) continue;
      const std::string word = std::to_string(a) + " to " + std::to_string(b);
      met.sockets[a][b].send(word);
      EXPECT_EQ(arrivedAt(met.sockets[b][a]), word);
    }
  }
}

/// Returns the first message of a rank that connects to the address in the store.
std::string helloFor(const std::string& address, int rank) {
  ControlMessage message;
  message.word = ControlWord::kHello;
  message.rank = rank;
  const std::size_t token = address.find(' ') + 1;
  message.token = address.substr(token, address.find(' ', token) - token);
  return encode(message);
}

OwnedFd connectToRank(MemoryKeyValue& store, int rank) {
  const std::string address = store.get("control/" + std::to_string(rank), kEnough);
  return connectTo("127.0.0.1", std::stoi(address), kEnough);
}

void sendTo(const OwnedFd& fd, const std::string& bytes) {
  send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// Whether the other side closes the connection.
bool isClosed(const OwnedFd& fd, Nanoseconds within) {
  pollfd waiting{.fd = fd.get(), .events = POLLRDHUP, .revents = 0};
  return poll(&waiting, 1, static_cast<int>(within / kNsPerMs)) == 1;
}

TEST(Meeting, ConnectsEveryTwoRanks) {
  for (const int ranks : {1, 2, 5, 12}) {
    MemoryKeyValue store;
    std::vector<int> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
    Met met = meet(store, ranks, all);
    expectConnected(met);
  }
}

TEST(Meeting, ARankThatDoesNotComeIsNamedByAll) {
  MemoryKeyValue store;
  const Met met = meet(store, 4, {0, 1, 3}, 300 * kNsPerMs);
  for (const std::size_t rank : {0, 1, 3}) {
    EXPECT_THAT(met.errors[rank], AllOf(StartsWith("rank 2 did not co"), EndsWith("300.0 ms")));
    EXPECT_EQ(met.errors[rank], met.errors[0]);
  }
}

TEST(Meeting, ARankThatCannotConnectIsNamedByAllAtOnce) {
  MemoryKeyValue store;
  const int port = portOf(listenAt("127.0.0.1"));  // nobody listens there any more
  store.set("control/1", std::to_string(port) + " token 127.0.0.1");
  const Nanoseconds begin = steadyTime();
  const Met met = meet(store, 4, {0, 2, 3});
  EXPECT_LT(steadyTime() - begin, 5 * kNsPerSecond);
  for (const std::size_t rank : {0, 2, 3}) {
    EXPECT_THAT(met.errors[rank],
                AllOf(HasSubstr(" cannot connect to rank 1: cannot connect to 127.0.0.1, port " +
                                std::to_string(port) + ": Connection refused")));
    EXPECT_EQ(met.errors[rank], met.errors[0]);
  }
}

TEST(Meeting, AConnectionThatNobodyAnswersIsGivenUpAfterTheLinkTimeout) {
  const test::DeafListener deaf;
  MemoryKeyValue store;
  store.set("control/0", std::to_string(deaf.port()) + " token 127.0.0.1");
  const Nanoseconds begin = steadyTime();
  RunStart start(store, 1, 2, kEnough);
  EXPECT_THAT(
      errorOf([&] {
        meetRanks({.rank = 1, .worldSize = 2, .neighbours = {0}, .linkTimeout = 700 * kNsPerMs},
                  start);
      }),
      AllOf(StartsWith("rank 1 cannot connect to rank 0: "), EndsWith("Connection timed out")));
  EXPECT_GE(steadyTime() - begin, 700 * kNsPerMs);
  EXPECT_LT(steadyTime() - begin, 5 * kNsPerSecond);
}

TEST(Meeting, ARankThatCannotListenIsNamedByAll) {
  MemoryKeyValue store;
  std::string error;
  std::thread away([&] {
    RunStart start(store, 2, 3, kEnough);
    error = errorOf([&] {
      meetRanks({.rank = 2, .worldSize = 3, .neighbours = {0, 1}, .host = "198.51.100.2"}, start);
    });
  });
  const Met met = meet(store, 3, {0, 1});
  away.join();
  EXPECT_EQ(error,
            "rank 2 cannot be reached: cannot use 198.51.100.2: Cannot assign requested address");
  EXPECT_EQ(met.errors[0], error);
  EXPECT_EQ(met.errors[1], error);
}

TEST(Meeting, ARankThatEndsMeanwhileIsNamedByAll) {
  MemoryKeyValue store;
  std::thread ends([&] {
    const OwnedFd fd = connectToRank(store, 0);
    sendTo(fd, helloFor(store.get("control/0", kEnough), 2));
    pauseMs(100);
  });
  const Met met = meet(store, 3, {0, 1});
  ends.join();
  EXPECT_EQ(met.errors[0], "rank 2 ended while the ranks came together");
  EXPECT_EQ(met.errors[1], met.errors[0]);
}

TEST(Meeting, StrangersAreDroppedAndTheRanksMeet) {
  MemoryKeyValue store;
  std::vector<OwnedFd> strangers;
  std::thread rank0([&] {
    Met met = meet(store, 2, {0});
    EXPECT_EQ(met.errors[0], "");
  });
  const std::string address = store.get("control/0", kEnough);
  const OwnedFd noise = connectToRank(store, 0);
  sendTo(noise, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(isClosed(noise, kEnough)) << "it sent no message";
  const OwnedFd huge = connectToRank(store, 0);
  sendTo(huge, std::string("\0\0\xff\0", 4) + std::string(300, 'x'));
  EXPECT_TRUE(isClosed(huge, kEnough)) << "it announced a long message";
  const OwnedFd guess = connectToRank(store, 0);
  sendTo(guess, helloFor("1 guess 127.0.0.1", 1));
  EXPECT_TRUE(isClosed(guess, kEnough)) << "it has no token";
  const OwnedFd self = connectToRank(store, 0);
  sendTo(self, helloFor(address, 0));
  EXPECT_TRUE(isClosed(self, kEnough)) << "this rank itself came";
  const OwnedFd none = connectToRank(store, 0);
  sendTo(none, helloFor(address, 2));
  EXPECT_TRUE(isClosed(none, kEnough)) << "there is no rank 2";
  for (int i = 0; i < 300; ++i) strangers.push_back(connectToRank(store, 0));
  EXPECT_TRUE(isClosed(strangers.front(), kEnough)) << "only 128 are kept";
  Met met = meet(store, 2, {1});
  EXPECT_EQ(met.errors[1], "");
  rank0.join();
}

TEST(Meeting, ASilentStrangerIsDroppedAfterAWhile) {
  MemoryKeyValue store;
  std::thread rank0([&] { meet(store, 2, {0}, 8 * kNsPerSecond); });
  const OwnedFd silent = connectToRank(store, 0);
  const Nanoseconds begin = steadyTime();
  EXPECT_TRUE(isClosed(silent, 7 * kNsPerSecond));
  EXPECT_GT(steadyTime() - begin, 4 * kNsPerSecond);
  meet(store, 2, {1});
  rank0.join();
}

TEST(Meeting, ARankThatIsDroppedBeforeItIsKnownComesAgain) {
  MemoryKeyValue store;
  OwnedFd listener = listenAt("127.0.0.1");
  store.set("control/0", std::to_string(portOf(listener)) + " secret 127.0.0.1");
  std::thread rank0([&] {
    pollfd waiting{.fd = listener.get(), .events = POLLIN, .revents = 0};
    poll(&waiting, 1, 20'000);
    acceptFrom(listener).reset();
    poll(&waiting, 1, 20'000);
    const OwnedFd second = acceptFrom(listener);
    ControlMessage welcome;
    welcome.word = ControlWord::kHello;
    welcome.rank = 0;
    sendTo(second, encode(welcome));
    if (store.count("control/met") == 2) store.set("control/all", "met");
    store.get("control/all", kEnough);
  });
  const Met met = meet(store, 2, {1});
  rank0.join();
  EXPECT_EQ(met.errors[1], "");
}

}  // namespace
}  // namespace pipetrace
