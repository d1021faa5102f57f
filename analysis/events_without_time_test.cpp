// Events at 0 among others that are not.
#include "analysis/events_without_time.h"

#include <gmock/gmock.h>

#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kNow = 1'697'793'307'213'760'986;

TEST(EventsWithoutTime, AFewAtZeroAreLeftOutAndCounted) {
  HandMadeTimeline made;
  for (int i = 0; i < 18; ++i) made.add(0, JobKind::kForward, kNow + i, kNow + i + 1);
  made.add(0, JobKind::kForward, 0, 0);
  made.add(0, JobKind::kKernel, 5, kNow, -1, 0, "kernels");
  made.add(1, JobKind::kForward, kNow, kNow + 1);
  made.timeline.sort();
  leaveOutEventsWithoutTime(made.timeline, 2);
  EXPECT_EQ(made.timeline.findTrack(0, kComputeLane)->events.size(), 18U);
  EXPECT_TRUE(made.timeline.findTrack(0, "kernels")->events.empty());
  EXPECT_EQ(made.timeline.ranks[0].eventsWithoutTime, 2);
  EXPECT_EQ(made.timeline.ranks[1].eventsWithoutTime, 0);
}

TEST(EventsWithoutTime, SamplesOfCountersAtZeroAreLeftOut) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, kNow, kNow + 1);
  made.add(1, JobKind::kForward, 5, 6);
  made.timeline.counters = {{0, "memory", "bytes", {{0, 1.0}, {kNow, 2.0}}},
                            {1, "memory", "bytes", {{0, 1.0}, {6, 2.0}}}};
  leaveOutEventsWithoutTime(made.timeline);
  ASSERT_EQ(made.timeline.counters[0].samples.size(), 1U);
  EXPECT_EQ(made.timeline.counters[0].samples[0].time, kNow);
  EXPECT_EQ(made.timeline.counters[1].samples.size(), 2U);
}

TEST(EventsWithoutTime, RunsAtZeroKeepTheirs) {
  HandMadeTimeline made;
  for (int i = 0; i < 20; ++i) made.add(0, JobKind::kForward, i, i + 1);
  for (int i = 0; i < 20; ++i) made.add(1, JobKind::kForward, kNow + i, kNow + i + 1);
  made.timeline.sort();
  leaveOutEventsWithoutTime(made.timeline);
  EXPECT_EQ(made.timeline.eventCount(), 40U);
}

}  // namespace
}  // namespace pipetrace
