#include "runtime/lanes/local_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/testing/count_allocations.h"

namespace pipetrace {

// A message of a test: its number of rows, and what it holds.
struct Letter {
  std::int64_t type = 6;
  std::vector<std::int64_t> sizes;
  int value = 0;
};

TensorShape shapeOf(const Letter& letter) {
  TensorShape shape{.type = letter.type,
                    .dimensions = static_cast<std::int64_t>(letter.sizes.size())};
  std::copy(letter.sizes.begin(), letter.sizes.end(), shape.sizes.begin());
  return shape;
}

struct Token {
  const int* holder = nullptr;
};
TensorShape shapeOf(const Token&) { return {}; }

namespace {

using ::testing::HasSubstr;
using Lanes = LocalLanes<Letter>;

constexpr std::size_t kSlots = 8;
const StampClock kNoClock;

MessageKey microBatch(int number) { return {.step = 2, .stage = 1, .microBatch = number}; }

std::string errorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Rank 0 sends to rank 1, and both are this thread.
class LocalLanesTest : public ::testing::Test {
 protected:
  Lanes lanes_{2};
  LocalSendLane<Letter> send_{lanes_, 0, 1, MessageKind::kActivations, kSlots, kNoClock};
  LocalReceiveLane<Letter> receive_{lanes_, 0, 1, MessageKind::kActivations, kSlots};
  Mailbox<Letter>& box_ = lanes_.open(0, 1, MessageKind::kActivations, kSlots);

  /// Delivers as a faulty transport does.
  void plant(std::uint64_t sequence, const MessageKey& key, Letter letter = {}) {
    const TensorShape shape = shapeOf(letter);
    box_.put({.key = key, .sequence = sequence, .shape = shape}, std::move(letter));
  }
  std::string errorAt(int number) {
    const std::uint64_t posted = receive_.post(microBatch(number));
    return errorOf([&] { receive_.take(posted, microBatch(number)); });
  }
};

TEST_F(LocalLanesTest, MessagesPassInTheOrderOfThePlan) {
  for (int i = 0; i < 5; ++i) send_.send(microBatch(i), {.value = 10 + i});
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t number = receive_.post(microBatch(i));
    EXPECT_EQ(receive_.take(number, microBatch(i)).message.value, 10 + i);
  }
}

TEST_F(LocalLanesTest, ALostMessageIsNamedWhenTheNextComesInItsPlace) {
  plant(0, microBatch(0));
  plant(2, microBatch(2));
  EXPECT_EQ(errorAt(0), "");
  const std::string error = errorAt(1);
  EXPECT_THAT(error, HasSubstr("rank 1 gave up waiting for the activations of micro-batch 1"));
  EXPECT_THAT(error,
              HasSubstr("from rank 0: the activations of micro-batch 1 for stage 1 in step 2 "
                        "did not come: it was lost, or overtaken by the activations of "
                        "micro-batch 2"));
}

TEST_F(LocalLanesTest, ADoubledMessageIsNamed) {
  plant(0, microBatch(0));
  plant(0, microBatch(0));
  EXPECT_EQ(errorAt(0), "");
  EXPECT_THAT(errorAt(1), HasSubstr("the activations of micro-batch 0 for stage 1 in step 2 came "
                                    "twice, where the activations of micro-batch 1"));
}

TEST_F(LocalLanesTest, ReorderedMessagesAreNamed) {
  plant(1, microBatch(1));
  plant(0, microBatch(0));
  EXPECT_THAT(errorAt(0), HasSubstr("the activations of micro-batch 0 for stage 1 in step 2 did "
                                    "not come: it was lost, or overtaken by the activations of "
                                    "micro-batch 1"));
}

TEST_F(LocalLanesTest, AMessageOfAnotherPlanIsNamed) {
  send_.send({.step = 2, .stage = 3, .microBatch = 0}, {});
  const std::string error = errorAt(0);
  EXPECT_THAT(error, HasSubstr("the peer sent the activations of micro-batch 0 for stage 3 in step "
                               "2 instead of the activations of micro-batch 0 for stage 1"));
  EXPECT_THAT(error, HasSubstr("do all ranks run the same schedule?"));
}

TEST_F(LocalLanesTest, AnotherTypeOrNumberOfDimensionsIsNamedAndOtherSizesAreNot) {
  send_.send(microBatch(0), {.sizes = {4, 3}});
  send_.send(microBatch(1), {.sizes = {2, 3}});
  send_.send(microBatch(2), {.type = 7, .sizes = {4, 3}});
  send_.send(microBatch(3), {.sizes = {4, 3, 1}});
  EXPECT_EQ(errorAt(0), "");
  EXPECT_EQ(errorAt(1), "") << "an uneven micro-batch";
  EXPECT_THAT(errorAt(2), HasSubstr("micro-batch 2 for stage 1 in step 2 from rank 0: it cannot "
                                    "be right: its numbers are of type 7, where those of earlier "
                                    "ones were of type 6"));
  EXPECT_THAT(errorAt(3), HasSubstr("its shape is 4 × 3 × 1, where an earlier one's was 4 × 3"));
}

TEST_F(LocalLanesTest, ARankThatFailsWakesTheOthersWithItsReason) {
  std::string error;
  std::thread waiting([&] { error = errorAt(0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  lanes_.group().fail(0, "disk on fire");
  waiting.join();
  EXPECT_EQ(error,
            "rank 1 gave up waiting for the activations of micro-batch 0 for stage 1 in step 2 "
            "from rank 0: rank 0 failed: disk on fire");
  EXPECT_THAT(errorOf([&] { send_.send(microBatch(0), {}); }),
              HasSubstr("rank 0 gave up sending the activations of micro-batch 0 for stage 1 in "
                        "step 2 to rank 1: disk on fire"));
  EXPECT_THAT(errorOf([&] { lanes_.group().finish(1); }), HasSubstr("for the others to finish"));
}

TEST_F(LocalLanesTest, AFullLaneGivesUpToo) {
  for (std::size_t i = 0; i < kSlots; ++i) send_.send(microBatch(static_cast<int>(i)), {});
  std::string error;
  std::thread sender([&] { error = errorOf([&] { send_.send(microBatch(8), {}); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  lanes_.group().fail(1, "stopped");
  sender.join();
  EXPECT_THAT(error, HasSubstr("rank 0 gave up sending the activations of micro-batch 8"));
}

TEST(LocalLanesOpenTest, EndsThatDoNotAgreeAreNamed) {
  Lanes lanes(3);
  lanes.open(1, 2, MessageKind::kActivations, 4);
  EXPECT_NO_THROW(lanes.open(1, 2, MessageKind::kGradients, 5));
  EXPECT_THAT(errorOf([&] { lanes.open(1, 2, MessageKind::kActivations, 5); }),
              HasSubstr("ranks 1 and 2 do not agree"));
}

// A ring of ranks: each passes on what it gets, both ways.
TEST(LocalLanesRingTest, EachMessageIsHandedOverOnceAndNothingIsAllocated) {
  constexpr int kRanks = 3;
  constexpr int kRounds = 2000;
  LocalLanes<Token> lanes(kRanks);
  const StampClock clock = [] { return std::uint64_t{5}; };
  std::vector<std::thread> threads;
  std::atomic<int> ready = 0;
  std::int64_t before = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const int next = (rank + 1) % kRanks;
      const int last = (rank + kRanks - 1) % kRanks;
      LocalSendLane<Token> send(lanes, rank, next, MessageKind::kActivations, 4, clock);
      LocalReceiveLane<Token> receive(lanes, last, rank, MessageKind::kActivations, 4);
      int value = rank;
      const auto pass = [&](int round) {
        const MessageKey key{.microBatch = round};
        const std::uint64_t number = receive.post(key);
        send.send(key, {&value});
        EXPECT_EQ(*receive.take(number, key).message.holder, last);
        EXPECT_EQ(send.nextDone(), 5U);
      };
      pass(0);  // remembers the shape
      if (++ready == kRanks) before = testing::allocationCount();
      while (ready < kRanks) std::this_thread::yield();
      for (int round = 1; round < kRounds; ++round) pass(round);
      --ready;
      while (ready > 0) std::this_thread::yield();
      if (rank == 0) {
        EXPECT_EQ(testing::allocationCount(), before);
      }
      lanes.group().finish(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lanes.handOvers(), kRanks * kRounds);
}

}  // namespace
}  // namespace pipetrace
