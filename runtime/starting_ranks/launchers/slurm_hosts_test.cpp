#include "runtime/starting_ranks/launchers/launched_place.h"

#include <gmock/gmock.h>

#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(SlurmHostsTest, RangesAndListsAreHostsInTheirOrder) {
  EXPECT_THAT(slurmHosts("a[01-03,7],b"), ElementsAre("a01", "a02", "a03", "a7", "b"));
  EXPECT_THAT(slurmHosts("node17"), ElementsAre("node17"));
  EXPECT_THAT(slurmHosts("gpu[9-11]-ib0,x.y"),
              ElementsAre("gpu9-ib0", "gpu10-ib0", "gpu11-ib0", "x.y"));
  EXPECT_THAT(slurmHosts("[3-4]"), ElementsAre("3", "4"));
}

TEST(SlurmHostsTest, TheLastOfSeveralBracketsCountsFastest) {
  EXPECT_THAT(slurmHosts("r[1-2]n[08,10]"), ElementsAre("r1n08", "r1n10", "r2n08", "r2n10"));
}

TEST(SlurmHostsTest, ZerosStayAsManyAsTheRangeBeginsWith) {
  EXPECT_THAT(slurmHosts("a[099-101]"), ElementsAre("a099", "a100", "a101"));
  EXPECT_THAT(slurmHosts("a[0-2]"), ElementsAre("a0", "a1", "a2"));
}

TEST(SlurmHostsTest, TextsThatAreNoListAreRefused) {
  for (const char* const text :
       {"", "a,", ",a", "a[1-3", "a1-3]", "a[]", "a[3-1]", "a[x]", "a[-3]", "a[1-]", "a[1,,2]",
        "a[1-99999]", "a[1-9999999999]", "a[1-300][1-300]"}) {
    try {
      slurmHosts(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("the list of hosts " + std::string(text))) << text;
    }
  }
  EXPECT_THAT(slurmHosts("a[1-300]"), SizeIs(300));
}

}  // namespace
}  // namespace pipetrace
