#include "runtime/lanes/rank_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>

#include "trace/error.h"

namespace pipetrace {
namespace {

TEST(RankThreads, EachRankRunsAllItsBodiesOnOneThread) {
  RankThreads threads(5);
  std::vector<std::thread::id> first(5);
  threads.run(
      [&](int rank) { first[static_cast<std::size_t>(rank)] = std::this_thread::get_id(); });
  std::atomic<int> same = 0;
  for (int round = 0; round < 100; ++round) {
    threads.run([&](int rank) {
      if (first[static_cast<std::size_t>(rank)] == std::this_thread::get_id()) ++same;
    });
  }
  EXPECT_EQ(same, 500);
}

TEST(RankThreads, TheErrorThatCameFirstIsThrownWhenAllHaveEnded) {
  RankThreads threads(3);
  std::atomic<bool> hasFailed = false;
  std::atomic<int> ended = 0;
  try {
    threads.run([&](int rank) {
      ++ended;
      if (rank == 1) {
        hasFailed = true;
        throw Error("first");
      }
      while (!hasFailed) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      throw Error("later");
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "first");
  }
  EXPECT_EQ(ended, 3);
  threads.run([&](int) { ++ended; });
  EXPECT_EQ(ended, 6) << "the threads go on after an error";
}

TEST(RankThreads, NoRanksAreDoneAtOnce) {
  RankThreads(0).run([](int) { FAIL(); });
}

}  // namespace
}  // namespace pipetrace
