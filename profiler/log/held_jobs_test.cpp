#include "profiler/log/held_jobs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <utility>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TimedJob job(Nanoseconds begin, Nanoseconds end) { return {.begin = begin, .end = end}; }

std::vector<Nanoseconds> begins(const std::vector<TimedJob>& jobs) {
  std::vector<Nanoseconds> result;
  for (const TimedJob& each : jobs) result.push_back(each.begin);
  return result;
}

TEST(HeldJobsTest, AStepsJobsComeSortedByStart) {
  HeldJobs held;
  held.add(1, job(30, 40), 0);
  held.add(1, job(10, 20), 0);
  held.add(1, job(20, 30), 0);
  std::vector<TimedJob> out;
  held.takeUpTo(0, out);
  EXPECT_THAT(out, IsEmpty());
  held.takeUpTo(1, out);
  EXPECT_THAT(begins(out), ElementsAre(10, 20, 30));
  EXPECT_TRUE(held.empty());
}

TEST(HeldJobsTest, AnEmptyJobComesBeforeTheOneThatStartsWithIt) {
  HeldJobs held;
  held.add(1, job(10, 20), 0);
  held.add(1, job(10, 10), 0);
  std::vector<TimedJob> out;
  held.takeAll(out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].end, 10);
}

TEST(HeldJobsTest, StreamsThatComeInTurnsAreMergedIntoOneOrder) {
  for (int streams = 1; streams <= 9; ++streams) {
    HeldJobs held;
    std::vector<TimedJob> expected;
    std::mt19937 random(static_cast<unsigned>(streams));
    std::vector<Nanoseconds> clocks(static_cast<std::size_t>(streams), 0);
    for (std::uint32_t i = 0; i < 600; ++i) {
      const auto stream = i / 20 % static_cast<std::uint32_t>(streams);
      const Nanoseconds begin = clocks[stream] + static_cast<Nanoseconds>(random() % 3);
      clocks[stream] = begin + static_cast<Nanoseconds>(random() % 3);
      expected.push_back({.begin = begin,
                          .end = clocks[stream],
                          .slot = i,
                          .lane = static_cast<std::int32_t>(stream)});
      held.add(1, expected.back(), 0);
    }
    // Jobs of the same times stay in the order in which they came.
    std::stable_sort(expected.begin(), expected.end(), [](const TimedJob& a, const TimedJob& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::vector<TimedJob> out;
    held.takeAll(out);
    ASSERT_EQ(out.size(), expected.size());
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i].slot, expected[i].slot) << i;
  }
}

TEST(HeldJobsTest, StepsAreNotMixedEvenWhenTheirJobsAre) {
  HeldJobs held;
  held.add(2, job(15, 16), 0);
  held.add(1, job(10, 11), 0);
  held.add(1, job(20, 21), 0);
  held.add(3, job(5, 6), 0);
  std::vector<TimedJob> out;
  held.takeUpTo(2, out);
  EXPECT_THAT(begins(out), ElementsAre(10, 20, 15));
  EXPECT_FALSE(held.empty());
}

TEST(HeldJobsTest, AStepThatHasWaitedTooLongComesOutWithTheStepsBeforeIt) {
  HeldJobs held;
  held.add(2, job(20, 21), 100);
  held.add(1, job(10, 11), 150);
  held.add(3, job(30, 31), 200);
  std::vector<TimedJob> out;
  held.takeOlderThan(99, out);
  EXPECT_THAT(out, IsEmpty());
  held.takeOlderThan(100, out);
  EXPECT_THAT(begins(out), ElementsAre(10, 20));
}

}  // namespace
}  // namespace pipetrace
