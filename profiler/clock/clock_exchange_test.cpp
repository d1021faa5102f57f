#include "profiler/clock/clock_exchange.h"

#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <regex>
#include <thread>

#include "profiler/clock/clock_comparison.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/testing/recorded_log.h"
#include "trace/error.h"
#include "trace/sockets/tcp.h"
#include "trace/testing/deaf_listener.h"
#include "trace/testing/forked_child.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kAhead = 5 * kNsPerMs;  // the server's clock

void spin(Nanoseconds duration) {
  for (const Nanoseconds until = monotonicNow() + duration; monotonicNow() < until;) {
  }
}

/// Another process, which serves a clock that is ahead. Messages take longer on the way there or on
/// the way back, but for every `quickOne`th round.
class OtherHost {
 public:
  OtherHost(Nanoseconds there, Nanoseconds back, int quickOne = 0) {
    std::array<int, 2> port{};
    std::array<int, 2> end{};
    if (pipe(port.data()) != 0 || pipe(end.data()) != 0) std::abort();
    child_ = fork();
    if (child_ == 0) {
      close(end[1]);
      int round = 0;
      const ClockServer server({.address = "127.0.0.1", .port = 0}, [&] {
        const bool isQuick = quickOne > 0 && ++round % quickOne == 0;
        if (!isQuick) spin(there);
        const Nanoseconds now = monotonicNow() + kAhead;
        if (!isQuick) spin(back);
        return now;
      });
      const int chosen = server.port();
      char byte = 0;
      const bool told = write(port[1], &chosen, sizeof chosen) == sizeof chosen;
      _exit(told && read(end[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(port[1]);
    close(end[0]);
    end_ = end[1];
    if (read(port[0], &port_, sizeof port_) != sizeof port_) std::abort();
    close(port[0]);
  }
  ~OtherHost() { stop(); }
  void stop() {
    if (child_ <= 0) return;
    close(end_);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  int port() const { return port_; }

 private:
  pid_t child_ = 0;
  int end_ = -1;
  int port_ = 0;
};

TEST(ClockExchangeTest, TheOffsetLiesWithinItsBound) {
  const OtherHost other(0, 0);
  const ClockReading reading =
      ClockExchange({.address = "127.0.0.1", .port = other.port()}, monotonicNow).compare();
  EXPECT_LE(std::llabs(reading.offset - kAhead), reading.bound);
  EXPECT_LE(reading.bound, kNsPerMs);
  EXPECT_GT(reading.bound, 0);
}

TEST(ClockExchangeTest, WaysOfDifferentLengthKeepTheOffsetWithinTheBound) {
  for (const auto& [there, back] :
       {std::pair{300 * kNsPerUs, Nanoseconds{0}}, std::pair{Nanoseconds{0}, 300 * kNsPerUs}}) {
    const OtherHost other(there, back);
    const ClockReading reading =
        ClockExchange({.address = "127.0.0.1", .port = other.port()}, monotonicNow).compare(32);
    EXPECT_GE(reading.bound, 150 * kNsPerUs);
    EXPECT_LE(std::llabs(reading.offset - kAhead), reading.bound);
    EXPECT_GE(std::llabs(reading.offset - kAhead), 100 * kNsPerUs)
        << "the answers do not show which way was the longer one";
  }
}

TEST(ClockExchangeTest, OneQuickRoundIsEnough) {
  const OtherHost other(500 * kNsPerUs, 0, 20);
  const ClockReading reading =
      ClockExchange({.address = "127.0.0.1", .port = other.port()}, monotonicNow).compare();
  EXPECT_LE(reading.bound, 240 * kNsPerUs);
  EXPECT_LE(std::llabs(reading.offset - kAhead), reading.bound);
}

TEST(ClockExchangeTest, AHostThatIsFarAwayIsAskedLessOften) {
  const OtherHost other(20 * kNsPerMs, 20 * kNsPerMs);
  const Nanoseconds begin = monotonicNow();
  const ClockReading reading =
      ClockExchange({.address = "127.0.0.1", .port = other.port()}, monotonicNow).compare();
  EXPECT_LT(monotonicNow() - begin, 2 * kNsPerSecond) << "all rounds take 5 s";
  EXPECT_LE(std::llabs(reading.offset - kAhead), reading.bound);
}

TEST(ClockExchangeTest, SeveralRanksAskAtOnce) {
  const OtherHost other(0, 0);
  std::vector<std::thread> ranks;
  for (int i = 0; i < 4; ++i) {
    ranks.emplace_back([&] {
      ClockExchange exchange({.address = "127.0.0.1", .port = other.port()}, monotonicNow);
      for (int round = 0; round < 3; ++round) {
        const ClockReading reading = exchange.compare();
        EXPECT_LE(std::llabs(reading.offset - kAhead), reading.bound);
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(ClockExchangeTest, AServerThatIsMissingOrEndsIsAnError) {
  OtherHost other(0, 0);
  ClockExchange exchange({.address = "127.0.0.1", .port = other.port()}, monotonicNow);
  exchange.compare(1);
  other.stop();
  EXPECT_THROW(exchange.compare(2), Error);
  EXPECT_THROW(ClockExchange({.address = "127.0.0.1", .port = other.port()}, monotonicNow), Error);
  EXPECT_THROW(ClockExchange({.address = "no.address", .port = 1}, monotonicNow), Error);
}

TEST(ClockExchangeTest, AStrangerGetsNoAnswerAndDelaysNobody) {
  const ClockPlace place{.address = "127.0.0.1", .token = "secret"};
  const ClockServer server(place, monotonicNow);
  const ClockPlace there{.address = "127.0.0.1", .port = server.port(), .token = "secret"};
  ClockPlace guess = there;
  guess.token = "secreT";
  EXPECT_THROW(ClockExchange(guess, monotonicNow).compare(1), Error);
  guess.token = "";
  EXPECT_THROW(ClockExchange(guess, monotonicNow).compare(1), Error) << "a request is no token";
  std::vector<OwnedFd> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(connectTo("127.0.0.1", server.port(), kNsPerSecond));
  }
  const Nanoseconds begin = monotonicNow();
  ClockExchange(there, monotonicNow).compare();
  EXPECT_LT(monotonicNow() - begin, kNsPerSecond / 2);
}

// It asks for more answers than the system keeps for it. At the slow end nobody waits.
TEST(ClockExchangeTest, AClientThatDoesNotReadItsAnswersDelaysNobody) {
  const ClockServer server({.address = "127.0.0.1"}, monotonicNow);
  const OwnedFd greedy = connectTo("127.0.0.1", server.port(), kNsPerSecond);
  const std::string requests(1 << 20, 't');
  const Nanoseconds until = monotonicNow() + kNsPerSecond / 2;
  ClockExchange other({.address = "127.0.0.1", .port = server.port()}, monotonicNow);
  while (monotonicNow() < until) {
    send(greedy.get(), requests.data(), requests.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    const Nanoseconds begin = monotonicNow();
    other.compare(4);
    ASSERT_LT(monotonicNow() - begin, kNsPerSecond / 2);
  }
}

TEST(ClockComparisonTest, ComparisonsAreRepeatedAndWrittenIntoTheLog) {
  const OtherHost other(0, 0);
  const RecordedLog log;
  const char* const kLines = "Profiler Clock: ";
  {
    const ClockComparison comparison(log.path(), {.address = "127.0.0.1", .port = other.port()},
                                     monotonicNow, 10 * kNsPerMs);
    const Nanoseconds limit = monotonicNow() + 10 * kNsPerSecond;
    while (log.lines(kLines).size() < 3 && monotonicNow() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  const std::vector<std::string> lines = log.lines(kLines);
  EXPECT_GE(lines.size(), 4U) << "three, and one at the end";
  const std::regex form(R"(time = \d+\.\d{6}, offset_ns = (-?\d+), bound_ns = (\d+))");
  for (const std::string& line : lines) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, form)) << line;
    EXPECT_LE(std::llabs(std::stoll(match[1]) - kAhead), std::stoll(match[2])) << line;
  }
}

/// A port that nobody serves now.
int freePort() { return ClockServer({.address = "127.0.0.1", .port = 0}, monotonicNow).port(); }

TEST(ClockComparisonTest, AMissingServerCostsOnlyTheClockLines) {
  const int port = freePort();
  const RecordedLog log;
  testing::internal::CaptureStderr();
  {
    const ClockComparison comparison(log.path(), {.address = "127.0.0.1", .port = port},
                                     monotonicNow, kNsPerMs);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "pipetrace: cannot compare clocks with 127.0.0.1:" + std::to_string(port) +
                ": Connection refused\n");
  EXPECT_THAT(log.lines("Profiler Clock: "), testing::IsEmpty());
}

TEST(ClockComparisonTest, TheFirstComparisonIsInTheLogOnceItWasAwaitedHoweverLateTheServerComes) {
  const int port = freePort();
  const RecordedLog log;
  ClockComparison comparison(log.path(), {.address = "127.0.0.1", .port = port}, monotonicNow);
  std::unique_ptr<ClockServer> server;
  std::thread rank0([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    server = std::make_unique<ClockServer>(ClockPlace{.address = "127.0.0.1", .port = port},
                                           monotonicNow);
  });
  EXPECT_TRUE(comparison.awaitFirst(20 * kNsPerSecond));
  EXPECT_THAT(log.lines("Profiler Clock: "), testing::SizeIs(1));
  rank0.join();
}

TEST(ClockComparisonTest, AServerThatIsMissingForLongIsStillAskedSeveralTimesASecond) {
  const int port = freePort();
  const RecordedLog log;
  ClockComparison comparison(log.path(), {.address = "127.0.0.1", .port = port}, monotonicNow);
  EXPECT_FALSE(comparison.awaitFirst(1400 * kNsPerMs)) << "nobody answers";
  const ClockServer server({.address = "127.0.0.1", .port = port}, monotonicNow);
  EXPECT_TRUE(comparison.awaitFirst(800 * kNsPerMs));
}

// Where a packet is lost, the system itself would try again after a second.
TEST(ClockComparisonTest, AConnectionThatNobodyAnswersIsTriedAgainSoon) {
  test::DeafListener deaf;
  const int port = deaf.port();
  const RecordedLog log;
  const Nanoseconds begin = monotonicNow();
  ClockComparison comparison(log.path(), {.address = "127.0.0.1", .port = port}, monotonicNow);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::thread answers([&] {
    const ClockServer server(deaf.emptied(), "", monotonicNow);
    comparison.awaitFirst(20 * kNsPerSecond);
  });
  EXPECT_TRUE(comparison.awaitFirst(20 * kNsPerSecond));
  EXPECT_LT(monotonicNow() - begin, 900 * kNsPerMs);
  answers.join();
}

/// A child that ends as a program does, by exit(). It would hang if it waited for a thread that it
/// does not have.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    std::fflush(nullptr);
    id_ = fork();
    if (id_ != 0) return;
    alarm(20);
    work();
    std::exit(0);
  }
  int wait() const {
    int status = -1;
    waitpid(id_, &status, 0);
    return status;
  }

 private:
  pid_t id_ = 0;
};

TEST(ClockComparisonTest, AForkedChildComparesNothingAndMayDestroyItsCopy) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  const OtherHost other(0, 0);
  const RecordedLog log;
  auto comparison = std::make_unique<ClockComparison>(
      log.path(), ClockPlace{.address = "127.0.0.1", .port = other.port()}, monotonicNow,
      1000 * kNsPerSecond);
  const Nanoseconds limit = monotonicNow() + 10 * kNsPerSecond;
  while (log.lines("Profiler Clock: ").empty() && monotonicNow() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(Child([&] { comparison.reset(); }).wait(), 0);
  EXPECT_THAT(log.lines("Profiler Clock: "), testing::SizeIs(1));
  comparison.reset();
  EXPECT_THAT(log.lines("Profiler Clock: "), testing::SizeIs(2)) << "the parent's goes on";
}

TEST(ClockServerTest, AForkedChildThatLivesOnKeepsNothingOfTheServer) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  auto server =
      std::make_unique<ClockServer>(ClockPlace{.address = "127.0.0.1", .port = 0}, monotonicNow);
  const int port = server->port();
  ClockExchange exchange({.address = "127.0.0.1", .port = port}, monotonicNow);
  exchange.compare(1);
  std::array<int, 2> isReady{};
  std::array<int, 2> goOn{};
  ASSERT_EQ(pipe(isReady.data()) + pipe(goOn.data()), 0);
  char byte = 0;
  const Child child([&] {
    server.reset();
    close(goOn[1]);
    if (write(isReady[1], &byte, 1) != 1 || read(goOn[0], &byte, 1) != 0) _exit(1);
  });
  close(isReady[1]);
  close(goOn[0]);
  ASSERT_EQ(read(isReady[0], &byte, 1), 1) << "it waits for a thread that it does not have";
  EXPECT_NO_THROW(exchange.compare(1)) << "the parent's goes on";
  server.reset();
  std::string why;
  try {
    exchange.compare(1);
  } catch (const Error& error) {
    why = error.what();
  }
  EXPECT_THAT(why,
              testing::AnyOf(testing::HasSubstr("it has closed"), testing::HasSubstr("reset")));
  EXPECT_EQ(ClockServer({.address = "127.0.0.1", .port = port}, monotonicNow).port(), port)
      << "the port is free";
  close(goOn[1]);
  EXPECT_EQ(child.wait(), 0);
  close(isReady[0]);
}

TEST(ClockServerTest, AProgramStartedMeanwhileDoesNotKeepTheServerFromEnding) {
  auto server =
      std::make_unique<ClockServer>(ClockPlace{.address = "127.0.0.1", .port = 0}, monotonicNow);
  std::string name = "sleep";
  std::string time = "20";
  std::array<char*, 3> arguments = {name.data(), time.data(), nullptr};
  pid_t other = 0;
  ASSERT_EQ(posix_spawnp(&other, "sleep", nullptr, nullptr, arguments.data(), environ), 0);
  server.reset();
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0) << "it still runs";
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace pipetrace
