#include "parser/chrome/write/event_text.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::HasSubstr;

TEST(ChromeEventTextTest, AnArrowFromAnEventThatEndsAtTheEarliestInstantLeavesAtThatInstant) {
  Timeline timeline;
  std::vector<Event>& events = timeline.track(0, kComputeLane).events;
  events.resize(2);
  events[0].begin = events[0].end = kNsMin;
  events[1].begin = kNsMin + 5000;
  events[1].end = kNsMin + 9000;
  const ViewerRows lanes(timeline);
  const ChromeEventText text(timeline, lanes, kNsMin);
  TextBuffer out;
  text.addArrow(out, 1, {events[0], lanes.row(0, 0)}, {events[1], lanes.row(0, 1)});
  EXPECT_THAT(out.text(), HasSubstr(R"({"ph":"s",)"));
  EXPECT_THAT(out.text(), HasSubstr(R"("ts":0.000})"));
  EXPECT_THAT(out.text(), HasSubstr(R"("ts":5.001})"));
}

}  // namespace
}  // namespace pipetrace
