#include "analysis/time_by_name.h"

#include <gmock/gmock.h>

#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// "mm of rank 0: 2 calls, own 30, total 40".
std::vector<std::string> rows(const Timeline& timeline, int threads = 1) {
  std::vector<std::string> list;
  for (const TimeByName& each : timesByName(timeline, threads)) {
    list.push_back(each.name + " of rank " + std::to_string(each.rank) + ": " +
                   std::to_string(each.calls) + " calls, own " + std::to_string(each.own) +
                   ", total " + std::to_string(each.total));
  }
  return list;
}

class TimeByNameTest : public testing::Test {
 protected:
  void add(int rank, const char* lane, const char* name, Nanoseconds begin, Nanoseconds end,
           JobKind kind = JobKind::kOther) {
    Event& event = made_.add(rank, kind, begin, end, -1, 0, lane);
    event.name = made_.timeline.strings.intern(name);
  }
  const Timeline& timeline() {
    made_.timeline.sort();
    return made_.timeline;
  }

  HandMadeTimeline made_;
};

TEST_F(TimeByNameTest, OwnTimeIsThatWithoutWhatRunsInside) {
  add(0, "thread 1", "linear", 0, 100);
  add(0, "thread 1", "mm", 0, 30);  // begins with the one around it
  add(0, "thread 1", "mm", 40, 60);
  add(0, "thread 1", "copy", 45, 50);
  add(0, "thread 1", "mm", 100, 110);
  EXPECT_THAT(rows(timeline()), ElementsAre("mm of rank 0: 3 calls, own 55, total 60",
                                            "linear of rank 0: 1 calls, own 50, total 100",
                                            "copy of rank 0: 1 calls, own 5, total 5"));
}

TEST_F(TimeByNameTest, OneInsideAnotherOfItsNameCountsOnceInTheTotal) {
  add(0, "thread 1", "call", 0, 100);
  add(0, "thread 1", "call", 10, 60);
  EXPECT_THAT(rows(timeline()), ElementsAre("call of rank 0: 2 calls, own 100, total 100"));
}

TEST_F(TimeByNameTest, RanksAreApartAndThreadsOfOneAreTogether) {
  add(0, "thread 1", "mm", 0, 10);
  add(0, "thread 2", "mm", 5, 25);  // at the same time
  add(1, "thread 1", "mm", 0, 7);
  const std::vector<std::string> expected = {"mm of rank 0: 2 calls, own 30, total 30",
                                             "mm of rank 1: 1 calls, own 7, total 7"};
  EXPECT_EQ(rows(timeline()), expected);
  EXPECT_EQ(rows(timeline(), 2), expected);
}

TEST_F(TimeByNameTest, TheOwnTimeOfAJobIsThatWithoutOperatorsAndKernels) {
  add(0, "compute", "PP:0F0", 0, 100, JobKind::kForward);
  add(0, "stream 7", "gemm", 10, 40, JobKind::kKernel);
  add(0, "recv", "gloo:recv", 0, 90, JobKind::kRecvForward);
  EXPECT_THAT(rows(timeline()), ElementsAre("gloo:recv of rank 0: 1 calls, own 90, total 90",
                                            "PP:0F0 of rank 0: 1 calls, own 70, total 100",
                                            "gemm of rank 0: 1 calls, own 30, total 30"));
}

TEST_F(TimeByNameTest, JobsWithoutANameHaveThatOfTheirKind) {
  for (const int microBatch : {0, 1}) {
    made_.add(0, JobKind::kForward, 10 * microBatch, 10 * microBatch + 10, 0, microBatch);
  }
  EXPECT_THAT(rows(timeline()), ElementsAre("forward of rank 0: 2 calls, own 20, total 20"));
}

TEST_F(TimeByNameTest, BubblesAndAProfilersOwnSpanAreLeftOut) {
  add(0, "profiler", "PyTorch Profiler (0)", 0, 1000);
  add(0, "bubbles", "", 0, 500, JobKind::kBubble);
  add(0, "thread 1", "mm", 500, 600);
  EXPECT_THAT(rows(timeline()), ElementsAre("mm of rank 0: 1 calls, own 100, total 100"));
  EXPECT_THAT(rows(Timeline()), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
