#include "parser/profile/profile_metadata.h"

#include <gmock/gmock.h>

#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Timeline runFrom(Nanoseconds begin, Nanoseconds end) {
  Timeline timeline;
  Event event;
  event.begin = begin;
  event.end = end;
  timeline.track(0, kComputeLane).events.push_back(event);
  return timeline;
}

TEST(ProfileOrigin, TimesCountFromTheFirstEventOrFromTheEpoch) {
  EXPECT_EQ(profileOrigin(runFrom(70, 90), false, 1), 70);
  EXPECT_EQ(profileOrigin(runFrom(-70, 90), false, 1), -70);
  EXPECT_EQ(profileOrigin(runFrom(70, 90), true, 1), 0);
  EXPECT_EQ(profileOrigin(runFrom(0, 90), true, 1), 0);
}

TEST(ProfileOrigin, TimesBeforeTheEpochCannotCountFromIt) {
  EXPECT_THAT([] { profileOrigin(runFrom(-1, 90), true, 1); },
              ThrowsMessage<Error>(HasSubstr("leave out --absolute-time")));
  EXPECT_THAT([] { profileOrigin(runFrom(90 - 367 * 86'400 * kNsPerSecond, 90), false, 1); },
              ThrowsMessage<Error>(HasSubstr("more than a year")));
}

}  // namespace
}  // namespace pipetrace
