// Which job of a rank an event of another lane belongs to.
#include <gtest/gtest.h>

#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

TEST(JobsOfEvents, AreFoundByTheirIdsWhateverTheOrderOfThose) {
  HandMadeTimeline made;
  constexpr std::int64_t kIds[] = {30, 10, 50, 20, 40};
  for (int i = 0; i < 5; ++i) {
    Event& job = made.add(0, JobKind::kForward, 10 * i, 10 * i + 10, 7 + i, i);
    job.job = kIds[i];
    job.stage = 0;
  }
  made.add(0, JobKind::kForward, 60, 70, 12, 5).stage = 0;  // it has no id
  for (int i = 0; i < 5; ++i) {
    // All in the time of the last job, so that only the id tells.
    made.add(0, JobKind::kSendForward, 61 + i, 62 + i, kNotGiven, i, kSendLane).job = kIds[i];
  }
  made.add(0, JobKind::kSendForward, 67, 68, kNotGiven, 5, kSendLane).job = 35;
  made.timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(made.timeline, diagnostics);
  const std::vector<Event>& sends = made.timeline.findTrack(0, kSendLane)->events;
  ASSERT_EQ(sends.size(), 6U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(sends[i].step, 7 + static_cast<int>(i)) << i;
  EXPECT_EQ(sends[5].step, 12) << "no job has that id, so its time tells";
}

}  // namespace
}  // namespace pipetrace
