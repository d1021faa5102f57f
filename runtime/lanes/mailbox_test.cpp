#include "runtime/lanes/mailbox.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "runtime/testing/count_allocations.h"

namespace pipetrace {
namespace {

using Letters = Mailbox<std::unique_ptr<int>>;

MessageHeader numbered(std::uint64_t number) { return {.sequence = number}; }

struct Ends {
  EventCount sender;
  EventCount receiver;
};

TEST(MailboxTest, MessagesArriveWholeAndInOrderThroughASmallRing) {
  Ends ends;
  Letters box(3, ends.sender, ends.receiver);
  constexpr std::uint64_t kMessages = 20'000;
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(box.put(numbered(i), std::make_unique<int>(static_cast<int>(i)), i + 7));
    }
  });
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    Letters::Letter letter;
    ASSERT_TRUE(box.take(i, letter));
    ASSERT_EQ(letter.header.sequence, i);
    ASSERT_EQ(*letter.payload, static_cast<int>(i));
    ASSERT_EQ(letter.stamp, i + 7);
  }
  sender.join();
  EXPECT_EQ(box.handOvers(), std::int64_t{kMessages});
}

TEST(MailboxTest, ATakenMessageIsNotKept) {
  Ends ends;
  Mailbox<std::shared_ptr<int>> box(4, ends.sender, ends.receiver);
  auto message = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = message;
  box.put(numbered(0), std::move(message));
  {
    Mailbox<std::shared_ptr<int>>::Letter letter;
    box.take(0, letter);
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST(MailboxTest, MessagesMayBeTakenOutOfTheirOrder) {
  Ends ends;
  Mailbox<std::string> box(3, ends.sender, ends.receiver);
  for (const char* text : {"a", "b", "c"}) box.put({}, text);
  std::string taken;
  for (const std::uint64_t number : {2, 0, 1}) {
    Mailbox<std::string>::Letter letter;
    ASSERT_TRUE(box.take(number, letter));
    taken += letter.payload;
  }
  EXPECT_EQ(taken, "cab");
  EXPECT_FALSE(box.has(3));
  box.put({}, "d");
  EXPECT_TRUE(box.has(3));
}

TEST(MailboxTest, ASenderWaitsWhileTheRingIsFull) {
  Ends ends;
  Mailbox<int> box(2, ends.sender, ends.receiver);
  std::atomic<int> put = 0;
  std::thread sender([&] {
    for (int i = 0; i < 3; ++i) {
      box.put({}, int{i});
      ++put;
    }
  });
  while (put < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(put, 2);
  Mailbox<int>::Letter letter;
  box.take(0, letter);
  sender.join();
  EXPECT_EQ(put, 3);
}

TEST(MailboxTest, StoppingEndsTheWaitsOfBothSides) {
  Ends ends;
  Mailbox<int> box(1, ends.sender, ends.receiver);
  box.put({}, 1);
  std::thread sender([&] { EXPECT_FALSE(box.put({}, 2)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ends.sender.stop();
  sender.join();
  ends.receiver.stop();
  Mailbox<int>::Letter letter;
  EXPECT_TRUE(box.take(0, letter)) << "it had come";
  EXPECT_FALSE(box.take(1, letter));
}

TEST(MailboxTest, AReceiverThatSleepsIsWokenOnceForItsMessageAndNotForOthers) {
  Ends ends;
  EventCount otherSender;
  Mailbox<int> box(4, ends.sender, ends.receiver);
  Mailbox<int> other(4, otherSender, ends.receiver);
  std::thread receiver([&] {
    Mailbox<int>::Letter letter;
    EXPECT_TRUE(box.take(1, letter));
    EXPECT_EQ(letter.payload, 11);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (int i = 0; i < 4; ++i) other.put({}, int{i});
  box.put({}, 10);
  box.put({}, 11);
  receiver.join();
  EXPECT_LE(ends.receiver.wakeUps(), 1);
}

TEST(MailboxTest, PuttingAndTakingAllocateNothing) {
  Ends ends;
  Mailbox<int> box(8, ends.sender, ends.receiver);
  Mailbox<int>::Letter letter;
  const std::int64_t before = testing::allocationCount();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    box.put(numbered(i), 1);
    box.take(i, letter);
  }
  EXPECT_EQ(testing::allocationCount(), before);
  EXPECT_EQ(box.handOvers(), 0) << "one thread did both";
  const auto memory = std::make_unique<int>();
  EXPECT_GT(testing::allocationCount(), before) << "they are counted";
}

}  // namespace
}  // namespace pipetrace
