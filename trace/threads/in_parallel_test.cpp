#include "trace/threads/in_parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace pipetrace {
namespace {

TEST(InParallel, EveryNumberIsPassedOnceWithAnyNumberOfThreads) {
  for (const int threads : {1, 3, 50}) {
    for (const std::size_t count : {0U, 1U, 7U, 100U}) {
      std::vector<int> calls(count);
      inParallel(threads, count, [&](std::size_t i) { ++calls[i]; });
      EXPECT_EQ(calls, std::vector<int>(count, 1)) << threads;
    }
  }
}

TEST(InParallel, AnExceptionOfACallIsThrown) {
  const auto failAt3 = [](std::size_t i) {
    if (i == 3) throw std::runtime_error("three");
  };
  EXPECT_THROW(inParallel(2, 10, failAt3), std::runtime_error);
}

}  // namespace
}  // namespace pipetrace
