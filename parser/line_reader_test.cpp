#include "parser/line_reader.h"

#include <gmock/gmock.h>

#include <vector>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> lines(const std::string& bytes) {
  ByteSource source("memory", bytes);
  LineReader reader(source);
  LineReader::Line line;
  std::vector<std::string> list;
  while (reader.next(line)) {
    EXPECT_EQ(line.number, static_cast<std::int64_t>(list.size()) + 1);
    list.push_back(std::string(line.text) + (line.tooLong ? "<too long>" : "") +
                   (line.terminated ? "" : "<cut off>"));
  }
  EXPECT_EQ(reader.count(), static_cast<std::int64_t>(list.size()));
  return list;
}

TEST(LineReaderTest, LinesEndAtTheirLineEnds) {
  EXPECT_THAT(lines(""), IsEmpty());
  EXPECT_THAT(lines("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines("\n"), ElementsAre(""));
}

TEST(LineReaderTest, ALastLineWithoutEndIsMarked) {
  EXPECT_THAT(lines("a\nb"), ElementsAre("a", "b<cut off>"));
}

TEST(LineReaderTest, LinesAcrossWindowsAreWhole) {
  std::string bytes;
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    expected.push_back(std::string(static_cast<std::size_t>(i) * 97 % 30'000, 'x') +
                       std::to_string(i));
    bytes += expected.back() + "\n";
  }
  EXPECT_EQ(lines(bytes), expected);
}

TEST(LineReaderTest, TooLongLinesAreSkippedAndTheNextOneIsRead) {
  const std::string longest(LineReader::kLongest, 'x');
  EXPECT_THAT(lines(longest + "\na\n"), ElementsAre(longest, "a"));
  EXPECT_THAT(lines(longest + "y\na\n"), ElementsAre("<too long>", "a"));
  EXPECT_THAT(lines(longest + longest + longest + longest + longest + "\na\n"),
              ElementsAre("<too long>", "a"));
  EXPECT_THAT(lines("a\n" + longest + longest + longest), ElementsAre("a", "<too long><cut off>"));
}

}  // namespace
}  // namespace pipetrace
