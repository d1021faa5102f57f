#include "runtime/transport/transport.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/testing/passed_messages.h"
#include "runtime/testing/run_ranks.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using testing::numbers;
using testing::passAll;
using testing::receive;
using testing::receiveFrom;
using testing::runConnected;
using testing::sendTo;
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

std::vector<Message> assortedMessages() {
  return {{.tensor = numbers(4, at::kFloat), .deadline = 1234567890123456789},
          {.tensor = numbers(1, at::kLong)},
          {.tensor = numbers(5, at::kHalf)},
          {.tensor = numbers(2, at::kBool)},
          {.tensor = numbers(7, at::kFloat).t()},  // not contiguous
          {.tensor = at::empty({0, 3})},           // no bytes
          {.tensor = at::arange(24).reshape({1, 2, 3, 4, 1})},
          {.tensor = at::arange(1).reshape({})},  // a scalar
          {.deadline = 42},                       // no tensor
          {.rows = 1'000'000'000'000}};
}

TEST_P(TransportTest, MessagesOfAnyTypeAndShapeArriveWhole) {
  std::vector<Message> messages;
  std::vector<MessageKey> keys;
  for (const int step : {3, 4, 5}) {  // how they travel may depend on the steps before
    for (const Message& message : assortedMessages()) {
      keys.push_back({.step = step, .stage = static_cast<int>(messages.size()) % 10});
      messages.push_back(message);
    }
  }
  ASSERT_EQ(messages.size(), 30);
  const auto pass = [&](Transport& transport) { passAll(transport, keys, messages, 2); };
  runPair(pass, pass);
}

TEST_P(TransportTest, MicroBatchesOfOneStageMayHaveAnyNumberOfRows) {
  // The first one says how much room later ones get: less, more, none, and the first none.
  for (const std::vector<int>& rows : {std::vector{4, 3, 5, 0, 4, 9, 1}, std::vector{0, 3, 0, 2}}) {
    for (const std::size_t ahead : {0, 3}) {
      std::vector<Message> messages;
      std::vector<MessageKey> keys;
      for (const int count : rows) {
        keys.push_back({.stage = 1, .microBatch = static_cast<int>(messages.size())});
        messages.push_back({.tensor = numbers(count, at::kFloat)});
      }
      const auto pass = [&](Transport& transport) { passAll(transport, keys, messages, ahead); };
      runPair(pass, pass);
    }
  }
}

TEST_P(TransportTest, MessagesOfOneDirectionDoNotWaitForThoseOfTheOther) {
  runPair(
      [&](Transport& transport) {
        const auto forward = sendTo(transport, 1);
        const auto backward = sendTo(transport, 1, MessageKind::kGradients);
        forward->send({.stage = 1}, {.tensor = numbers(1, at::kFloat)});
        backward->send({.stage = 0, .kind = MessageKind::kGradients},
                       {.tensor = numbers(2, at::kFloat)});
        forward->awaitAll();
        backward->awaitAll();
        transport.finish();
      },
      [&](Transport& transport) {
        const auto forward = receiveFrom(transport, 0);
        const auto backward = receiveFrom(transport, 0, MessageKind::kGradients);
        const Message gradient = receive(*backward, {.stage = 0, .kind = MessageKind::kGradients});
        EXPECT_EQ(gradient.tensor.size(0), 2);
        EXPECT_EQ(receive(*forward, {.stage = 1}).tensor.size(0), 1);
        transport.finish();
      });
}

TEST_P(TransportTest, PostedMessagesMayBeUsedOutOfTheirOrder) {
  const MessageKey first{.stage = 1, .microBatch = 0};
  const MessageKey second{.stage = 1, .microBatch = 1};
  runPair(
      [&](Transport& transport) {
        const auto lane = sendTo(transport, 1);
        lane->send(first, {.tensor = numbers(1, at::kFloat)});
        lane->send(second, {.tensor = numbers(2, at::kFloat)});
        lane->awaitAll();
        transport.finish();
      },
      [&](Transport& transport) {
        const auto lane = receiveFrom(transport, 0);
        const std::uint64_t one = lane->post(first);
        const std::uint64_t two = lane->post(second);
        EXPECT_EQ(lane->take(two, second).message.tensor.size(0), 2);
        EXPECT_EQ(lane->take(one, first).message.tensor.size(0), 1);
        transport.finish();
      });
}

TEST_P(TransportTest, SendReturnsBeforeThePeerReceives) {
  std::promise<void> sent;
  const MessageKey key{.stage = 1};
  runPair(
      [&](Transport& transport) {
        const auto lane = sendTo(transport, 1);
        // 64 MiB: more than the sockets between the two can hold.
        lane->send(key, {.tensor = at::empty({1 << 24})});
        sent.set_value();
        lane->awaitAll();
        transport.finish();
      },
      [&](Transport& transport) {
        const auto lane = receiveFrom(transport, 0);
        ASSERT_EQ(sent.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
        EXPECT_EQ(receive(*lane, key).bytes(), std::int64_t{4} << 24);
        transport.finish();
      });
}

TEST_P(TransportTest, AMessageThatWasSentIsNotKept) {
  std::promise<void> received;
  runPair(
      [&](Transport& transport) {
        const auto lane = sendTo(transport, 1);
        at::Tensor tensor = numbers(3, at::kFloat);
        const c10::Storage watched = tensor.storage();
        lane->send({.stage = 1}, {.tensor = std::move(tensor)});
        lane->awaitAll();
        received.get_future().wait();
        EXPECT_EQ(watched.use_count(), 1U);
        transport.finish();
      },
      [&](Transport& transport) {
        receive(*receiveFrom(transport, 0), {.stage = 1});
        received.set_value();
        transport.finish();
      });
}

TEST_P(TransportTest, SendsAndArrivalsAreStamped) {
  std::promise<void> got;
  runPair(
      [&](Transport& transport) {
        transport.useClock([] { return std::uint64_t{17}; });
        const auto lane = sendTo(transport, 1);
        lane->send({.stage = 1}, {});
        lane->awaitAll();
        EXPECT_EQ(lane->nextDone(), 17U);
        transport.finish();
      },
      [&](Transport& transport) {
        transport.useClock([] { return std::uint64_t{17}; });
        const auto lane = receiveFrom(transport, 0);
        EXPECT_EQ(lane->take(lane->post({.stage = 1}), {.stage = 1}).stamp, 17U);
        transport.finish();
      });
}

TEST_P(TransportTest, AnotherMessageThanThePlansIsNamed) {
  const auto errors = runConnected(GetParam(), 2, [](Transport& transport) {
    if (transport.rank() == 0) {
      const auto lane = sendTo(transport, 1);
      lane->send({.step = 4, .stage = 1}, {.tensor = at::empty({1})});
      lane->awaitAll();
      transport.finish();
      return;
    }
    const auto lane = receiveFrom(transport, 0);
    try {
      receive(*lane, {.step = 3, .stage = 1});
    } catch (...) {
      transport.finish();
      throw;
    }
  });
  EXPECT_THAT(errors[1], HasSubstr("the peer sent the activations of micro-batch 0 for stage 1 in "
                                   "step 4 instead of"));
}

TEST_P(TransportTest, APeerThatEndsEarlyIsNamed) {
  const auto errors = runConnected(GetParam(), 2, [](Transport& transport) {
    if (transport.rank() == 1) return;
    const auto lane = receiveFrom(transport, 1, MessageKind::kGradients);
    receive(*lane, {.stage = 0, .kind = MessageKind::kGradients});
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

/// The error of a rank that is in `wait` when its transport is aborted. The other rank is alive and
/// silent.
std::string errorOfAborted(Wiring wiring, const std::function<void(Transport&)>& wait) {
  std::promise<void> otherDone;
  const auto errors = runConnected(wiring, 2, [&](Transport& transport) {
    if (transport.rank() == 1) {
      otherDone.get_future().wait();
      return;
    }
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      transport.abort("stopped by SIGTERM");
    });
    try {
      wait(transport);
    } catch (...) {
      stopper.join();
      otherDone.set_value();
      throw;
    }
    stopper.join();
    otherDone.set_value();
  });
  return errors[0];
}

TEST_P(TransportTest, AbortWakesAWaitingReceiveWithItsReason) {
  const auto receives = [](Transport& transport) { receive(*receiveFrom(transport, 1), {}); };
  EXPECT_THAT(errorOfAborted(GetParam(), receives), HasSubstr("stopped by SIGTERM"));
}

TEST_P(TransportTest, AbortWakesARankThatWaitsForTheOthersToFinish) {
  const auto finishes = [](Transport& transport) { transport.finish(); };
  EXPECT_THAT(errorOfAborted(GetParam(), finishes), HasSubstr("stopped by SIGTERM"));
}

TEST_P(TransportTest, AllRanksLeaveFinishOnceTheLastIsThere) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    std::atomic<int> come = 0;
    const auto errors = runConnected(GetParam(), ranks, [&](Transport& transport) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3 * transport.rank()));
      ++come;
      transport.finish();
      EXPECT_EQ(come, ranks);
    });
    EXPECT_EQ(errors, std::vector<std::string>(static_cast<std::size_t>(ranks)));
  }
}

TEST_P(TransportTest, NothingIsSentAfterAbort) {
  const auto errors = runConnected(GetParam(), 2, [](Transport& transport) {
    if (transport.rank() == 1) return;
    const auto lane = sendTo(transport, 1);
    transport.abort("enough");
    lane->send({.stage = 1}, {});
  });
  EXPECT_THAT(errors[0], HasSubstr("enough"));
}

TEST_P(TransportTest, AMessageToItselfOrToNobodyIsRefused) {
  const auto errors = runConnected(GetParam(), 2, [](Transport& transport) {
    const auto refuses = [&](int peer) {
      EXPECT_THROW(sendTo(transport, peer), Error) << peer;
      EXPECT_THROW(receiveFrom(transport, peer), Error) << peer;
    };
    refuses(transport.rank());
    refuses(2);
    refuses(-1);
    transport.finish();
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

}  // namespace
}  // namespace pipetrace
