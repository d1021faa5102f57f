#include "runtime/control/verdict/verdict.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(HostRanks, HostsAreNamedWithTheirRanks) {
  const HostRanks one{.name = "h3", .ranks = {12, 13, 14, 15}};
  const HostRanks two{.name = "10.0.0.7", .ranks = {16}};
  EXPECT_EQ(hostsText({one}), "host h3 (ranks 12 to 15)");
  EXPECT_EQ(hostsText({one, two}), "hosts h3 (ranks 12 to 15) and 10.0.0.7 (rank 16)");
  EXPECT_EQ(hostsText({two, one, two}),
            "hosts 10.0.0.7 (rank 16), h3 (ranks 12 to 15) and 10.0.0.7 (rank 16)");
}

TEST(HostRanks, HostsAfterEightAreCounted) {
  std::vector<HostRanks> hosts;
  for (int rank = 0; rank < 100; ++rank) hosts.push_back({.name = "h", .ranks = {rank}});
  const std::string eight =
      "hosts h (rank 0), h (rank 1), h (rank 2), h (rank 3), h (rank 4), h (rank 5), h (rank 6), "
      "h (rank 7)";
  EXPECT_EQ(hostsText(hosts), eight + " and 92 more");
  hosts.resize(9);
  EXPECT_EQ(hostsText(hosts), eight + " and h (rank 8)");
}

}  // namespace
}  // namespace pipetrace
