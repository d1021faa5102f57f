#include "runtime/transport/transport.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "runtime/launch/local_port.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/transport/gloo.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using testing::runConnected;
using testing::Wiring;

class TransportTest : public ::testing::TestWithParam<Wiring> {
 protected:
  // Two connected ranks; the test fails if one throws.
  static void runPair(const std::function<void(Transport&)>& zero,
                      const std::function<void(Transport&)>& one) {
    const auto errors = runConnected(GetParam(), 2, [&](Transport& transport) {
      (transport.rank() == 0 ? zero : one)(transport);
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
  }
};

INSTANTIATE_TEST_SUITE_P(All, TransportTest, ::testing::Values(Wiring::kInProcess, Wiring::kGloo),
                         [](const auto& test) {
                           return test.param == Wiring::kGloo ? "Gloo" : "InProcess";
                         });

at::Tensor numbers(std::int64_t rows, c10::ScalarType type) {
  return at::arange(rows * 3, at::kLong).reshape({rows, 3}).to(type);
}

void expectSame(const at::Tensor& a, const at::Tensor& b) {
  ASSERT_EQ(a.defined(), b.defined());
  if (!a.defined()) return;
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(a.equal(b));
}

std::vector<Message> assortedMessages() {
  return {{.tensor = numbers(4, at::kFloat), .deadline = 1234567890123456789},
          {.tensor = numbers(1, at::kLong)},
          {.tensor = numbers(5, at::kHalf)},
          {.tensor = numbers(2, at::kBool)},
          {.tensor = numbers(7, at::kFloat).t()},  // not contiguous
          {.tensor = at::empty({0, 3})},           // no bytes
          {.tensor = at::arange(24).reshape({1, 2, 3, 4, 1})},
          {.tensor = at::arange(1).reshape({})},  // a scalar
          {.deadline = 42}};                      // no tensor
}

TEST_P(TransportTest, MessagesOfAnyTypeAndShapeArriveWhole) {
  const std::vector<Message> messages = assortedMessages();
  const auto keyOf = [](std::size_t i) {
    return MessageKey{.step = 3, .stage = 1, .microBatch = static_cast<int>(i)};
  };
  runPair(
      [&](Transport& transport) {
        for (std::size_t i = 0; i < messages.size(); ++i) {
          transport.send(1, keyOf(i), messages[i])();
        }
        transport.finish();
      },
      [&](Transport& transport) {
        for (std::size_t i = 0; i < messages.size(); ++i) {
          const Message got = transport.recv(0, keyOf(i));
          expectSame(got.tensor, messages[i].tensor);
          EXPECT_EQ(got.deadline, messages[i].deadline);
        }
        transport.finish();
      });
}

TEST_P(TransportTest, MessagesAreMatchedByKeyNotByOrder) {
  const MessageKey first{.step = 1, .stage = 1, .microBatch = 0};
  std::vector<MessageKey> keys{first, first, first, first, first};
  keys[1].microBatch = 1;
  keys[2].stage = 2;
  keys[3].step = 2;
  keys[4].direction = Direction::kBackward;
  runPair(
      [&](Transport& transport) {
        std::vector<Transport::SendCompletion> completions;
        for (std::size_t i = 0; i < keys.size(); ++i) {
          completions.push_back(transport.send(
              1, keys[i], {.tensor = numbers(static_cast<std::int64_t>(i) + 1, at::kFloat)}));
        }
        for (const auto& complete : completions) complete();
        transport.finish();
      },
      [&](Transport& transport) {
        for (std::size_t i = keys.size(); i-- > 0;) {
          const Message got = transport.recv(0, keys[i]);
          EXPECT_EQ(got.tensor.size(0), static_cast<std::int64_t>(i) + 1);
        }
        transport.finish();
      });
}

TEST_P(TransportTest, SendReturnsBeforeThePeerReceives) {
  std::promise<void> sent;
  const MessageKey key{.stage = 1};
  runPair(
      [&](Transport& transport) {
        // 64 MiB: more than the sockets between the two can hold.
        auto complete = transport.send(1, key, {.tensor = at::empty({1 << 24})});
        sent.set_value();
        complete();
        transport.finish();
      },
      [&](Transport& transport) {
        ASSERT_EQ(sent.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
        EXPECT_EQ(transport.recv(0, key).bytes(), std::int64_t{4} << 24);
        transport.finish();
      });
}

TEST_P(TransportTest, APeerThatEndsEarlyIsNamed) {
  const auto errors = runConnected(GetParam(), 2, [](Transport& transport) {
    if (transport.rank() == 0) transport.recv(1, {.stage = 0, .direction = Direction::kBackward});
  });
  EXPECT_THAT(errors[0], HasSubstr("the gradients of micro-batch 0 for stage 0"));
  EXPECT_THAT(errors[0], HasSubstr("from rank 1"));
  EXPECT_THAT(errors[0], ::testing::AnyOf(HasSubstr("rank 1 is gone"), HasSubstr("rank 1 failed")));
}

TEST_P(TransportTest, FinishFailsWhenAPeerIsGone) {
  const auto errors = runConnected(GetParam(), 2, [](Transport& transport) {
    if (transport.rank() == 0) transport.finish();
  });
  EXPECT_THAT(errors[0], HasSubstr("the others to finish"));
}

TEST_P(TransportTest, AbortWakesAWaitingReceiveWithItsReason) {
  std::promise<void> otherDone;
  const auto errors = runConnected(GetParam(), 2, [&](Transport& transport) {
    if (transport.rank() == 1) {
      otherDone.get_future().wait();  // alive, and silent
      return;
    }
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      transport.abort("stopped by SIGTERM");
    });
    try {
      transport.recv(1, {});
    } catch (...) {
      stopper.join();
      otherDone.set_value();
      throw;
    }
    stopper.join();
    otherDone.set_value();
  });
  EXPECT_THAT(errors[0], HasSubstr("stopped by SIGTERM"));
}

TEST_P(TransportTest, NothingIsSentAfterAbort) {
  const auto errors = runConnected(GetParam(), 2, [](Transport& transport) {
    if (transport.rank() == 1) return;
    transport.abort("enough");
    transport.send(1, {.stage = 1}, {});
  });
  EXPECT_THAT(errors[0], HasSubstr("enough"));
}

TEST_P(TransportTest, AMessageToItselfOrToNobodyIsRefused) {
  const auto errors = runConnected(GetParam(), 2, [](Transport& transport) {
    const auto refuses = [&](int peer) {
      EXPECT_THROW(transport.send(peer, {}, {}), Error) << peer;
      EXPECT_THROW(transport.recv(peer, {}), Error) << peer;
    };
    refuses(transport.rank());
    refuses(2);
    refuses(-1);
    transport.finish();
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

TEST(GlooTransportTest, RanksThatNeverComeAreReportedInTime) {
  GlooOptions options{.env = {.worldSize = 2, .masterAddr = "127.0.0.1", .attempt = "0"}};
  options.env.masterPort = freeLocalPort();
  options.connectTimeout = 1500 * kNsPerMs;
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = testing::runRanks(1, [&](int) { connectGloo(options); });
  EXPECT_THAT(errors[0], HasSubstr("rank 0 of 2 could not connect to its peers at 127.0.0.1:"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(GlooTransportTest, AKeyThatNoTagCanHoldIsRefused) {
  const auto errors = runConnected(Wiring::kGloo, 2, [](Transport& transport) {
    EXPECT_THROW(transport.send(1 - transport.rank(), {.stage = 1024}, {}), Error);
    EXPECT_THROW(transport.recv(1 - transport.rank(), {.microBatch = 8192}), Error);
    transport.finish();
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

}  // namespace
}  // namespace pipetrace
