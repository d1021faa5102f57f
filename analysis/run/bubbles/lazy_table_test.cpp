#include "analysis/run/bubbles/lazy_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

class LazyTableTest : public testing::Test {
 protected:
  static constexpr std::size_t kSize = 1000;
  using Table = LazyTable<int, 4>;

  int at(std::size_t i) {
    return table_.at(i, [&](std::size_t number) {
      ++made_;
      return static_cast<int>(3 * number);
    });
  }

  Table table_{kSize};
  std::atomic<int> made_ = 0;
};

TEST_F(LazyTableTest, ValuesAreMadeABlockAtATimeAndOnce) {
  EXPECT_EQ(table_.find(20), nullptr);
  EXPECT_EQ(at(20), 60);
  EXPECT_EQ(made_, 16) << "16 to 31";
  EXPECT_EQ(at(31), 93);
  EXPECT_EQ(made_, 16);
  ASSERT_NE(table_.find(16), nullptr);
  EXPECT_EQ(*table_.find(16), 48);
  EXPECT_EQ(table_.find(32), nullptr);
}

TEST_F(LazyTableTest, TheLastBlockHasOnlyTheValuesThatThereAre) {
  EXPECT_EQ(at(999), 2997);
  EXPECT_EQ(made_, 8) << "992 to 999";
}

TEST_F(LazyTableTest, BlocksGoThatNobodyHasLookedIntoSinceTheCallBefore) {
  at(0);
  at(100);
  table_.letGo();
  EXPECT_NE(table_.find(0), nullptr) << "used before the first call";
  at(100);
  table_.letGo();
  EXPECT_EQ(table_.find(0), nullptr);
  ASSERT_NE(table_.find(100), nullptr);
  made_ = 0;
  EXPECT_EQ(at(1), 3) << "it comes back when it is used";
  EXPECT_EQ(made_, 16);
  table_.clear();
  EXPECT_EQ(table_.find(100), nullptr);
  EXPECT_EQ(at(100), 300);
}

TEST_F(LazyTableTest, SeveralThreadsGetTheSameValues) {
  std::vector<int> values(4 * kSize);
  inParallel(4, values.size(), [&](std::size_t i) { values[i] = at(i * 7 % kSize); });
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], static_cast<int>(3 * (i * 7 % kSize)));
  }
  EXPECT_GE(made_, static_cast<int>(kSize));
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(*table_.find(i), static_cast<int>(3 * i));
}

}  // namespace
}  // namespace pipetrace
