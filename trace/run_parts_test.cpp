#include "trace/run_parts.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(RunPartsTest, ATimeIsInThePartThatBeganLast) {
  const Nanoseconds begins[] = {10, 20};
  EXPECT_EQ(partAt(begins, 9), 0U);
  EXPECT_EQ(partAt(begins, 10), 1U);
  EXPECT_EQ(partAt(begins, 19), 1U);
  EXPECT_EQ(partAt(begins, 20), 2U);
  EXPECT_EQ(partAt({}, 20), 0U);
}

TEST(RunPartsTest, APartBeginsWhereItsFirstRankBegins) {
  Timeline timeline;
  EXPECT_THAT(partBeginsOf(timeline), IsEmpty());
  timeline.ranks[0].partBegins = {12};
  timeline.ranks[1].partBegins = {10, 25};
  timeline.ranks[2].partBegins = {11, 24};
  timeline.ranks[3];
  EXPECT_THAT(partBeginsOf(timeline), ElementsAre(10, 24));
}

}  // namespace
}  // namespace pipetrace
