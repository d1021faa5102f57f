#include "parser/chrome/write/growing_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "parser/testing/files.h"

namespace pipetrace {
namespace {

using GrowingChromeJsonTest = test::FolderTest;

TEST_F(GrowingChromeJsonTest, TheSummaryCountsWhatWasAddedAndWhatCameTooLate) {
  Timeline timeline;
  Event event;
  event.kind = JobKind::kForward;
  event.begin = 100 * kNsPerSecond;
  event.end = event.begin + kNsPerMs;
  timeline.track(0, kComputeLane).events.push_back(event);
  const double notFinite = std::numeric_limits<double>::infinity();
  timeline.counters.push_back(
      {.rank = 0,
       .name = "loss",
       .samples = {
           {100 * kNsPerSecond, 3.5}, {101 * kNsPerSecond, notFinite}, {102 * kNsPerSecond, 2.5}}});
  GrowingChromeJson out(path("p.json"));
  out.add(timeline, false);
  EXPECT_EQ(out.summary().jobs, 1);
  EXPECT_EQ(out.summary().counters, 2);
  timeline.track(0, kComputeLane).events.clear();
  timeline.counters[0].samples = {{1 * kNsPerSecond, 1}, {103 * kNsPerSecond, 1}};
  out.add(timeline, false);
  out.close();
  EXPECT_EQ(out.summary().jobs, 1);
  EXPECT_EQ(out.summary().counters, 3);
  EXPECT_EQ(out.tooEarly(), 1) << "more than a minute before the first event";
}

}  // namespace
}  // namespace pipetrace
