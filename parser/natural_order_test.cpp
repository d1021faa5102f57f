#include "parser/natural_order.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

TEST(NaturalOrderTest, RunsOfDigitsAreNumbers) {
  const std::vector<std::string> inOrder = {"",           "machine",   "machine0",  "machine02",
                                            "machine2",   "machine2a", "machine10", "machine010b",
                                            "machine10b", "node1x9",   "node1x10"};
  for (std::size_t i = 0; i < inOrder.size(); ++i) {
    for (std::size_t j = 0; j < inOrder.size(); ++j) {
      EXPECT_EQ(naturallyBefore(inOrder[i], inOrder[j]), i < j) << inOrder[i] << ' ' << inOrder[j];
    }
  }
}

TEST(NaturalOrderTest, NumbersOfAnyLengthAreCompared) {
  EXPECT_TRUE(naturallyBefore("a99999999999999999998", "a99999999999999999999"));
  EXPECT_FALSE(naturallyBefore("a100000000000000000000", "a99999999999999999999"));
}

}  // namespace
}  // namespace pipetrace
