#include "trace/threads/turns.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace pipetrace {
namespace {

TEST(TurnsTest, PiecesAreHandedInInOrderWhicheverThreadDidThem) {
  std::atomic<int> next{0};
  std::vector<int> order;
  std::set<std::thread::id> threads;
  Turns::run(3, [&](Turns& turns) {
    for (int i = 0; (i = next++) < 200;) {
      // The earlier of two pieces takes longer.
      if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
      ASSERT_TRUE(turns.await(i));
      order.push_back(i);
      threads.insert(std::this_thread::get_id());
      turns.finish();
    }
  });
  ASSERT_EQ(order.size(), 200U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_GT(threads.size(), 1U);
}

TEST(TurnsTest, AnExceptionEndsTheWaitOfAllThreadsAndIsThrown) {
  std::atomic<int> next{0};
  std::atomic<int> handedIn{0};
  const auto work = [&](Turns& turns) {
    for (int i = 0; (i = next++) < 100;) {
      if (i == 5) throw std::runtime_error("piece 5");
      if (!turns.await(i)) return;
      ++handedIn;
      turns.finish();
    }
  };
  EXPECT_THROW(Turns::run(4, work), std::runtime_error);
  EXPECT_LE(handedIn, 5);
}

TEST(TurnsTest, OneThreadIsTheCallingOne) {
  std::thread::id seen;
  Turns::run(1, [&](Turns&) { seen = std::this_thread::get_id(); });
  EXPECT_EQ(seen, std::this_thread::get_id());
}

TEST(TurnsTest, ZeroThreadsMeansOnePerCore) {
  EXPECT_EQ(threadCount(3), 3);
  EXPECT_GE(threadCount(0), 1);
}

}  // namespace
}  // namespace pipetrace
