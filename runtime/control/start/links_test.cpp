#include "runtime/control/start/links.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<ControlLinks> allLinks(int worldSize, int mostInMesh = ControlLinks::kMeshRanks) {
  std::vector<ControlLinks> all;
  for (int rank = 0; rank < worldSize; ++rank) {
    all.push_back(linksOf(rank, worldSize, mostInMesh));
  }
  return all;
}

/// The ranks that a word of `from` reaches while the ranks `gone` are gone.
std::set<int> reachedFrom(int from, const std::vector<ControlLinks>& all,
                          const std::set<int>& gone) {
  std::set<int> reached{from};
  std::vector<int> next{from};
  while (!next.empty()) {
    const int rank = next.back();
    next.pop_back();
    for (const int other : all[static_cast<std::size_t>(rank)].neighbours) {
      if (!gone.contains(other) && reached.insert(other).second) next.push_back(other);
    }
  }
  return reached;
}

TEST(ControlLinks, UpTo256RanksAreAllConnectedWithEachOther) {
  for (const ControlLinks& links : allLinks(256)) {
    EXPECT_FALSE(links.isTree);
    EXPECT_THAT(links.neighbours, SizeIs(255));
    EXPECT_EQ(links.levels, 1);
  }
  EXPECT_THAT(linksOf(1, 3).neighbours, ElementsAre(0, 2));
  EXPECT_THAT(linksOf(0, 1).neighbours, IsEmpty());
}

TEST(ControlLinks, ATreeConnectsBothEndsOfEveryLink) {
  for (const int ranks : {2, 17, 18, 40, 257, 1000, 5000}) {
    const auto all = allLinks(ranks, 1);
    for (int rank = 0; rank < ranks; ++rank) {
      const ControlLinks& links = all[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(std::is_sorted(links.neighbours.begin(), links.neighbours.end()));
      for (const int other : links.neighbours) {
        const auto& back = all[static_cast<std::size_t>(other)].neighbours;
        EXPECT_TRUE(std::binary_search(back.begin(), back.end(), rank)) << rank << " " << other;
      }
      for (const int child : links.children) {
        EXPECT_EQ(all[static_cast<std::size_t>(child)].parent, rank);
      }
      EXPECT_EQ(links.parent, rank == 0 ? -1 : (rank - 1) / 16);
    }
  }
}

TEST(ControlLinks, ATreeOf1000RanksHasFourLevelsAndFewLinks) {
  const auto all = allLinks(1000);
  EXPECT_TRUE(all[0].isTree);
  EXPECT_EQ(all[0].levels, 4);
  EXPECT_EQ(allLinks(257)[0].levels, 3);
  std::size_t most = 0;
  for (const ControlLinks& links : all) most = std::max(most, links.neighbours.size());
  EXPECT_LE(most, 48U);
  EXPECT_THAT(all[999].neighbours, ElementsAre(62, 190)) << "half of the level of 256 further on";
}

// Eight ranks are a host of eight GPUs.
TEST(ControlLinks, WithoutAnyRankAndWithoutAnyHostOfEightTheOthersReachEachOther) {
  for (const int ranks : {40, 257, 1000}) {
    const auto all = allLinks(ranks, 1);
    for (int first = 0; first < ranks; ++first) {
      for (const int size : {1, 8}) {
        if (size == 8 && first % 8 != 0) continue;
        std::set<int> gone;
        for (int rank = first; rank < std::min(first + size, ranks); ++rank) gone.insert(rank);
        const int from = first > 0 ? 0 : size;
        const std::size_t left = static_cast<std::size_t>(ranks) - gone.size();
        ASSERT_THAT(reachedFrom(from, all, gone), SizeIs(left)) << ranks << " without " << first;
      }
    }
  }
}

}  // namespace
}  // namespace pipetrace
