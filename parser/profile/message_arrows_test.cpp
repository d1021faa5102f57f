#include "parser/profile/arrow.h"

#include <gmock/gmock.h>

#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class MessageArrows : public testing::Test {
 protected:
  void message(int rank, const char* lane, std::int64_t number, Nanoseconds begin,
               Nanoseconds end) {
    Event& event = timeline_.track(rank, lane).events.emplace_back();
    event.begin = begin;
    event.end = end;
    const StringId key = timeline_.strings.intern(message_arguments::kMessage);
    const Argument argument = Argument::ofInteger(key, number);
    timeline_.setArguments(event, {&argument, 1});
  }

  Timeline timeline_;
};

TEST_F(MessageArrows, ArrowLeadsFromASendToTheReceiveWithItsNumber) {
  message(0, "send", 7, 10, 40);
  message(0, "send", 8, 50, 90);
  message(1, "recv", 8, 60, 90);
  const std::vector<Arrow> arrows = findMessageArrows(timeline_);
  ASSERT_THAT(arrows, SizeIs(1));
  EXPECT_EQ(arrows[0].from.event, 1U);
  EXPECT_EQ(timeline_.tracks[arrows[0].to.track].rank, 1);
}

TEST_F(MessageArrows, NoArrowLeadsBackInTime) {
  message(0, "send", 7, 10, 40);
  message(1, "recv", 7, 5, 40);
  EXPECT_THAT(findMessageArrows(timeline_), IsEmpty());
}

TEST_F(MessageArrows, EventsOfNoLengthHaveNone) {
  message(0, "send", 7, 10, 10);
  message(1, "recv", 7, 15, 40);
  EXPECT_THAT(findMessageArrows(timeline_), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
