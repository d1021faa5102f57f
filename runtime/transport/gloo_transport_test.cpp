#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "runtime/control/start/run_start.h"
#include "runtime/control/start/same_run.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/testing/passed_messages.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/gloo_header.h"
#include "runtime/transport/gloo_lanes.h"
#include "runtime/transport/gloo_store.h"
#include "trace/error.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using testing::expectSame;
using ::testing::HasSubstr;
using testing::numbers;
using testing::passAll;
using testing::receive;
using testing::receiveFrom;
using testing::sendTo;
using ::testing::StartsWith;

TEST(GlooTransportTest, RanksThatNeverComeAreReportedInTime) {
  GlooOptions options{.env = {.worldSize = 2, .masterAddr = "127.0.0.1", .attempt = "0"}};
  const LocalPort port;
  options.env.masterPort = port.number();
  options.connectTimeout = 1500 * kNsPerMs;
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = testing::runRanks(1, [&](int) { connectGloo(options); });
  EXPECT_THAT(errors[0], StartsWith("rank 1 did not come within 1.5"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(GlooTransportTest, AStoreThatIsNotThereIsReportedAfterTheConnectTimeout) {
  const LocalPort port;  // where nobody listens
  GlooOptions options{.env = {.rank = 1, .worldSize = 2, .masterAddr = "127.0.0.1"}};
  options.env.masterPort = port.number();
  options.connectTimeout = 600 * kNsPerMs;
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = testing::runRanks(1, [&](int) { connectGloo(options); });
  const auto after = std::chrono::steady_clock::now() - begin;
  EXPECT_THAT(errors[0], AllOf(StartsWith("rank 1 of 2 cannot reach the store of the run at "),
                               HasSubstr(": Connection refused; does rank 0 run")));
  EXPECT_GE(after, std::chrono::milliseconds(600));
  EXPECT_LT(after, std::chrono::milliseconds(1100)) << "it is not asked for twice";
}

TEST(GlooTransportTest, AnInterfaceThatDoesNotExistIsNamed) {
  setenv("GLOO_SOCKET_IFNAME", "nonesuch", 1);
  const LocalPort port;
  GlooOptions options{.env = {.worldSize = 1, .masterAddr = "127.0.0.1", .attempt = "0"}};
  options.env.masterPort = port.number();
  const auto errors = testing::runRanks(1, [&](int) { connectGloo(options); });
  unsetenv("GLOO_SOCKET_IFNAME");
  EXPECT_EQ(errors[0],
            "rank 0 has no address for the others: no network interface \"nonesuch\" has "
            "an address");
}

/// Two ranks over Gloo with these options.
std::vector<std::string> runGlooPair(GlooOptions options,
                                     const std::function<void(Transport&)>& body) {
  const LocalPort port;
  options.env = {
      .worldSize = 2, .masterAddr = "127.0.0.1", .masterPort = port.number(), .attempt = "0"};
  return testing::runRanks(2, [&](int rank) {
    GlooOptions own = options;
    own.env.rank = own.env.localRank = rank;
    const auto transport = connectGloo(own);
    body(*transport);
  });
}

// Other addresses of the loopback network are of this host, too.
TEST(GlooTransportTest, TheStoreTakesConnectionsAtTheMastersAddressAlone) {
  const LocalPort port;
  GlooOptions options{.env = {.worldSize = 1, .masterAddr = "127.0.0.1", .attempt = "0"}};
  options.env.masterPort = port.number();
  const auto errors = testing::runRanks(1, [&](int) {
    const auto transport = connectGloo(options);
    EXPECT_TRUE(connectTo("127.0.0.1", port.number(), kNsPerSecond).isOpen());
    EXPECT_THROW(connectTo("127.0.0.2", port.number(), kNsPerSecond), Error);
  });
  EXPECT_EQ(errors[0], "");
}

/// From now on each open socket of this process sends that many bytes a second at most.
void slowDown(std::uint32_t bytesPerSecond) {
  for (int file = 3; file < 1024; ++file) {
    setsockopt(file, SOL_SOCKET, SO_MAX_PACING_RATE, &bytesPerSecond, sizeof bytesPerSecond);
  }
}

/// Sends a message for which a step's time is too short. Returns how long that took.
std::chrono::steady_clock::duration sendSlowly() {
  const LocalPort port;
  ControlOptions control;
  control.limits.stall.stepTimeout = kNsPerSecond;
  control.exitDelay = 60 * kNsPerSecond;  // this process is to live on
  const MessageKey key{.stage = 1};
  const Message message{.tensor = numbers(50'000, c10::kLong)};  // 1.2 MB
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = testing::runRanks(2, [&](int rank) {
    const GlooRun run = connectGlooRun({.env = {.rank = rank,
                                                .localRank = rank,
                                                .worldSize = 2,
                                                .masterAddr = "127.0.0.1",
                                                .masterPort = port.number(),
                                                .attempt = "0"}},
                                       control, {});
    run.control->begin(0);
    if (rank == 0) {
      const auto lane = sendTo(*run.transport, 1);
      run.transport->awaitLanes();
      slowDown(400'000);
      lane->send(key, Message(message));
      lane->awaitAll();
    } else {
      const auto lane = receiveFrom(*run.transport, 0);
      run.transport->awaitLanes();
      run.control->waitingFor(0, 0);
      expectSame(receive(*lane, key).tensor, message.tensor);
    }
    run.control->ended();
    run.control->finish();
    run.transport->finish();
  });
  EXPECT_THAT(errors, ::testing::Each(""));
  return std::chrono::steady_clock::now() - begin;
}

TEST(GlooTransportTest, AMessageMayTakeLongerThanTheStepTimeout) {
  // Now and then the system does not slow sockets down.
  for (int tries = 0; tries < 3; ++tries) {
    if (sendSlowly() > std::chrono::seconds(2)) return;
  }
  GTEST_SKIP() << "the system does not slow sockets down";
}

TEST(GlooTransportTest, NumbersInTagsWrapRound) {
  std::vector<MessageKey> keys;
  std::vector<Message> messages;
  for (int i = 0; i < 60; ++i) {
    keys.push_back({.step = i / 20, .stage = i % 5, .microBatch = i % 20});
    messages.push_back({.tensor = numbers(1 + i % 3, at::kFloat)});
  }
  GlooOptions options;
  options.tags = {.stageBits = 1, .tensorBits = 1, .numberBits = 1};
  const auto errors =
      runGlooPair(options, [&](Transport& transport) { passAll(transport, keys, messages, 4); });
  EXPECT_EQ(errors[0] + errors[1], "");
}

TEST(GlooTransportTest, TenThousandMicroBatchesAndAnyStageHaveTags) {
  const GlooTags tags;
  for (const int stage : {0, 1023, 1024, 1 << 30}) {
    for (const std::uint64_t number : {0, 8192, 10'000, 1 << 30}) {
      EXPECT_GE(tags.tag({.stage = stage, .kind = MessageKind::kStageGradients}, number,
                         GlooPart::kLongBody),
                0);
    }
  }
  const int tag = tags.tag({.stage = 1}, 10'000, GlooPart::kBody);
  EXPECT_NE(tag, tags.tag({.stage = 1}, 9999, GlooPart::kBody));
  EXPECT_NE(tag, tags.tag({.stage = 2}, 10'000, GlooPart::kBody));
  EXPECT_NE(tag, tags.tag({.stage = 1, .tensor = 3}, 10'000, GlooPart::kBody));
}

TEST(GlooTransportTest, EveryKindOfMessageHasTagsOfItsOwn) {
  std::map<int, MessageKind> kinds;
  for (const MessageKindRow& row : kMessageKinds) {
    const int tag = GlooTags{}.tag({.kind = row.kind}, 0, GlooPart::kBody);
    const auto [other, isNew] = kinds.emplace(tag, row.kind);
    EXPECT_TRUE(isNew) << toText(MessageKey{.kind = row.kind}) << " and "
                       << toText(MessageKey{.kind = other->second});
  }
}

TEST(GlooTransportTest, ARankWhoseMessagesHaveAnotherFormatIsNamedAtTheStart) {
  const LocalPort port;
  const auto errors = testing::runRanks(2, [&](int rank) {
    GlooOptions options{.env = {.rank = rank,
                                .worldSize = 2,
                                .masterAddr = "127.0.0.1",
                                .masterPort = port.number(),
                                .attempt = "0"}};
    if (rank == 0) {
      connectGloo(options);
      return;
    }
    GlooStore words(openRunStore(options.env, kNsPerSecond * 10)->store);
    RunStart start(words, rank, 2, kNsPerSecond * 10);
    awaitSameRun(start, {.rank = rank, .worldSize = 2}, {{"format of messages", "4"}});
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("rank 1 has the format of messages 4, where the others have " +
                                 std::to_string(kGlooFormat)));
  }
}

TEST(GlooTransportTest, UnevenMicroBatchesOfManyStepsArriveWholeWithAndWithoutOverlap) {
  std::vector<MessageKey> keys;
  std::vector<Message> messages;
  for (int i = 0; i < 30; ++i) {  // five messages a step, for two stages in turn
    keys.push_back({.step = i / 5, .stage = i % 2, .microBatch = i % 5});
    messages.push_back({.tensor = numbers(i * i % 7, at::kFloat)});
  }
  for (const bool overlaps : {true, false}) {
    for (const std::size_t ahead : {0, 2, 8}) {
      GlooOptions options;
      options.overlaps = overlaps;
      const auto errors = runGlooPair(
          options, [&](Transport& transport) { passAll(transport, keys, messages, ahead); });
      EXPECT_EQ(errors[0] + errors[1], "");
    }
  }
}

MessageKey keyOf(int step, int microBatch = 0) {
  return {.step = step, .stage = 1, .microBatch = microBatch};
}

TEST(GlooTransportTest, ATensorThatCameWithItsHeaderIsAViewOfTheirBufferOnABoundaryOf64Bytes) {
  const auto errors = runGlooPair({}, [](Transport& transport) {
    if (transport.rank() == 0) {
      const auto lane = sendTo(transport, 1);
      for (const int step : {0, 1}) lane->send(keyOf(step), {.tensor = numbers(4, at::kFloat)});
      lane->awaitAll();
    } else {
      const auto lane = receiveFrom(transport, 0);
      EXPECT_EQ(receive(*lane, keyOf(0)).tensor.storage_offset(), 0);
      const at::Tensor got = receive(*lane, keyOf(1)).tensor;
      expectSame(got, numbers(4, at::kFloat));
      EXPECT_GT(got.storage_offset(), 0);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got.data_ptr()) % 64, 0);
    }
    transport.finish();
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

// The plan's check counts on it (requireFits()).
TEST(GlooTransportTest, WithoutOverlapASendWaitsUntilItsReceiveIsPostedAndNoLonger) {
  GlooOptions options;
  options.overlaps = false;
  // Each length that a message can have beside the steps before: the first, as long, longer, short.
  const std::vector<int> rows{4, 4, 9, 0, 1};
  std::vector<std::promise<void>> sent(rows.size());
  const auto errors = runGlooPair(options, [&](Transport& transport) {
    const auto lane = transport.rank() == 0 ? sendTo(transport, 1) : nullptr;
    const auto back = transport.rank() == 1 ? receiveFrom(transport, 0) : nullptr;
    for (std::size_t step = 0; step < rows.size(); ++step) {
      const MessageKey key = keyOf(static_cast<int>(step));
      const at::Tensor tensor = numbers(rows[step], at::kFloat);
      if (lane) {
        lane->send(key, {.tensor = tensor});
        sent[step].set_value();
        continue;
      }
      auto done = sent[step].get_future();
      EXPECT_EQ(done.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout) << step;
      const std::uint64_t number = back->post(key);
      EXPECT_EQ(done.wait_for(std::chrono::seconds(20)), std::future_status::ready) << step;
      expectSame(back->take(number, key).message.tensor, tensor);
    }
    if (lane) lane->awaitAll();
    transport.finish();
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

TEST(GlooTransportTest, ReceivesPostedBeforeTheMessagesOfStepsBeforeHaveComeGetTheirs) {
  // The first is short, so that nobody can know how long the others are when they are posted.
  const std::vector<int> rows{1, 7, 3, 0, 12, 2};
  std::promise<void> posted;
  const auto errors = runGlooPair({}, [&](Transport& transport) {
    if (transport.rank() == 0) {
      const auto lane = sendTo(transport, 1);
      posted.get_future().wait();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        lane->send(keyOf(static_cast<int>(i / 2)), {.tensor = numbers(rows[i], at::kFloat)});
      }
      lane->awaitAll();
    } else {
      const auto lane = receiveFrom(transport, 0);
      for (std::size_t i = 0; i < rows.size(); ++i) lane->post(keyOf(static_cast<int>(i / 2)));
      posted.set_value();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        expectSame(lane->take(i, keyOf(static_cast<int>(i / 2))).message.tensor,
                   numbers(rows[i], at::kFloat));
      }
    }
    transport.finish();
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

TEST(GlooTransportTest, MessagesLongerThanTravelTogetherArriveWhole) {
  const std::int64_t most = ReceiveBufferSizes::kLongestTogether / 12;  // rows of three floats
  std::vector<MessageKey> keys;
  std::vector<Message> messages;
  int step = 0;
  for (const std::int64_t rows : {most, most, most + 1, most + 1, most, std::int64_t{5}}) {
    keys.push_back(keyOf(step++));
    messages.push_back({.tensor = numbers(rows, at::kFloat)});
  }
  for (const bool overlaps : {true, false}) {
    for (const std::size_t ahead : {0, 3}) {
      GlooOptions options;
      options.overlaps = overlaps;
      const auto errors = runGlooPair(
          options, [&](Transport& transport) { passAll(transport, keys, messages, ahead); });
      EXPECT_EQ(errors[0] + errors[1], "") << overlaps << ahead;
    }
  }
}

// In the step after the first, when messages travel together.
TEST(GlooTransportTest, APeerThatEndsWhileItIsWaitedForIsNamed) {
  for (const bool overlaps : {true, false}) {
    for (const int stays : {0, 1}) {
      GlooOptions options;
      options.overlaps = overlaps;
      const auto errors = runGlooPair(options, [&](Transport& transport) {
        const auto send = transport.rank() == 0 ? sendTo(transport, 1) : nullptr;
        const auto receives = transport.rank() == 1 ? receiveFrom(transport, 0) : nullptr;
        const auto pass = [&](int step) {
          if (receives) receive(*receives, keyOf(step));
          if (!send) return;
          send->send(keyOf(step), {.tensor = numbers(50'000, at::kFloat)});
          send->awaitAll();
        };
        pass(0);
        if (transport.rank() == stays) pass(1);
      });
      EXPECT_THAT(errors[static_cast<std::size_t>(stays)],
                  AllOf(HasSubstr("the activations of micro-batch 0 for stage 1 in step 1"),
                        HasSubstr("rank " + std::to_string(1 - stays) + " is gone")))
          << overlaps;
      EXPECT_EQ(errors[static_cast<std::size_t>(1 - stays)], "");
    }
  }
}

TEST(GlooTransportTest, WithoutOverlapTheLaneReceivesAndSendsOnTheCallersThread) {
  for (const bool overlaps : {true, false}) {
    GlooOptions options;
    options.overlaps = overlaps;
    const auto errors = runGlooPair(options, [&](Transport& transport) {
      EXPECT_EQ(transport.sendsBlock(), !overlaps);
      // The thread that waits for a transfer reads the clock.
      std::thread::id waits;
      transport.useClock([&] {
        waits = std::this_thread::get_id();
        return std::uint64_t{1};
      });
      if (transport.rank() == 0) {
        const auto lane = sendTo(transport, 1);
        lane->send({.stage = 1}, {.tensor = numbers(4, at::kFloat)});
        lane->awaitAll();
      } else {
        EXPECT_EQ(receive(*receiveFrom(transport, 0), {.stage = 1}).tensor.size(0), 4);
      }
      EXPECT_EQ(waits == std::this_thread::get_id(), !overlaps);
      transport.finish();
    });
    EXPECT_EQ(errors[0] + errors[1], "");
  }
}

}  // namespace
}  // namespace pipetrace
