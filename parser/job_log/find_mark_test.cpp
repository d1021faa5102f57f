#include "parser/job_log/find_mark.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace pipetrace {
namespace {

TEST(FindMarkTest, TheFirstMarkIsFoundWhereverItStands) {
  for (std::size_t before = 0; before < 130; ++before) {
    for (const std::size_t behind : {0, 1, 40}) {
      const std::string text = std::string(before, 'P') + "Profiler " + std::string(behind, '\n');
      const FoundMark found = findMark(text);
      EXPECT_EQ(found.at - text.data(), static_cast<std::ptrdiff_t>(before));
      EXPECT_EQ(found.lineEnds, 0);
    }
  }
}

TEST(FindMarkTest, LineEndsBeforeTheMarkAreCounted) {
  const std::string text = "a\n\n" + std::string(70, '\n') + "\nbProfiler Info\n";
  EXPECT_EQ(findMark(text).lineEnds, 73);
  EXPECT_EQ(findMark("a\nProfile\nb\n").lineEnds, 3);
}

TEST(FindMarkTest, AMarkCutOffByTheEndIsNotFound) {
  for (std::size_t before = 0; before < 70; ++before) {
    const std::string text = std::string(before, '.') + "Profiler";
    EXPECT_EQ(findMark(text).at, text.data() + text.size());
  }
  EXPECT_EQ(findMark({}).lineEnds, 0);
}

TEST(FindMarkTest, BothWaysFindTheSameInAnyText) {
  std::mt19937 random(7);
  const std::string letters = "Profiler \n\n.";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const std::size_t length = random() % 200;
    while (text.size() < length) {
      // Whole and nearly whole marks among their own letters.
      text += random() % 12 == 0 ? std::string("Profiler ").substr(0, 5 + random() % 5)
                                 : std::string(1, letters[random() % letters.size()]);
    }
    const FoundMark fast = findMark(text);
    const FoundMark slow = findMarkByBytes(text);
    ASSERT_EQ(fast.at, slow.at) << text;
    ASSERT_EQ(fast.lineEnds, slow.lineEnds) << text;
  }
}

}  // namespace
}  // namespace pipetrace
