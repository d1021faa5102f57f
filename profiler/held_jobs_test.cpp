#include "profiler/held_jobs.h"

#include <gmock/gmock.h>

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

TEST(HeldJobsTest, WhatHasWaitedTooLongComesOutWithTheStepsBeforeIt) {
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
