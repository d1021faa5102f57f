#include "parser/line_blocks.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "parser/testing/files.h"
#include "trace/threads/turns.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kTooLong = "<too long>";

/// The lines of a block, the last one marked where it has no end.
void split(const LineBlocks::Block& block, std::vector<std::string>& list) {
  for (std::string_view rest = block.text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    list.push_back(std::string(rest.substr(0, end)) +
                   (end == std::string_view::npos ? "<cut off>" : ""));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (block.tooLong) list.emplace_back(kTooLong);
}

std::vector<std::string> lines(ByteSource& source, std::size_t size, int threads = 1) {
  LineBlocks blocks(source, size);
  std::vector<std::string> list;
  Turns::run(threads, [&](Turns& turns) {
    for (LineBlocks::Block block; blocks.next(block);) {
      ASSERT_TRUE(turns.await(block.number));
      split(block, list);
      turns.finish();
    }
  });
  return list;
}

/// The lines of bytes in memory, which can be read at any place. The same bytes from a pipe, which
/// cannot, must give the same lines.
std::vector<std::string> lines(const std::string& bytes,
                               std::size_t size = LineBlocks::kUsualSize) {
  ByteSource memory("memory", bytes);
  const std::vector<std::string> list = lines(memory, size);
  ByteSource again("memory", bytes);
  EXPECT_EQ(lines(again, size, 3), list);

  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t n = std::min<std::size_t>(bytes.size() - done, 70'001);
      if (::write(ends[1], bytes.data() + done, n) < 0) break;
      done += n;
    }
    ::close(ends[1]);
  });
  ByteSource pipe("/dev/fd/" + std::to_string(ends[0]));
  EXPECT_FALSE(pipe.plainSize());
  EXPECT_EQ(lines(pipe, size), list);
  writer.join();
  ::close(ends[0]);
  return list;
}

TEST(LineBlocksTest, LinesEndAtTheirLineEnds) {
  EXPECT_THAT(lines(""), IsEmpty());
  EXPECT_THAT(lines("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines("\n"), ElementsAre(""));
}

TEST(LineBlocksTest, ALastLineWithoutEndIsHandedOutWithoutIt) {
  EXPECT_THAT(lines("a\nb"), ElementsAre("a", "b<cut off>"));
}

TEST(LineBlocksTest, LinesAcrossBlocksAreWholeAndComeOnce) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    std::string bytes;
    std::vector<std::string> expected;
    const unsigned longest = round % 3 == 0 ? 40 : round % 3 == 1 ? 4 : 9000;
    for (int i = 0; i < 300; ++i) {
      expected.push_back(std::string(random() % longest, 'x'));
      bytes += expected.back() + "\n";
    }
    for (const std::size_t size : {1, 2, 7, 64, 1000, 65536}) {
      if (size < 64 && longest > 100) continue;  // a million blocks
      ByteSource source("memory", bytes);
      ASSERT_EQ(lines(source, size), expected) << size;
    }
    ASSERT_EQ(lines(bytes, 3000), expected);
  }
}

TEST(LineBlocksTest, TooLongLinesAreLeftOutAndTheNextOneIsRead) {
  const std::string longest(LineBlocks::kLongestLine, 'x');
  EXPECT_THAT(lines(longest + "\na\n"), ElementsAre(longest, "a"));
  EXPECT_THAT(lines("b\n" + longest + "\na\n"), ElementsAre("b", longest, "a"));
  EXPECT_THAT(lines(longest + "y\na\n"), ElementsAre(kTooLong, "a"));
  EXPECT_THAT(lines("b\n" + longest + "y\na"), ElementsAre("b", kTooLong, "a<cut off>"));
  EXPECT_THAT(lines(longest + longest + longest + longest + longest + "\na\nb\n"),
              ElementsAre(kTooLong, "a", "b"));
  EXPECT_THAT(lines("a\n" + longest + longest + longest), ElementsAre("a", kTooLong));
  EXPECT_THAT(lines("a\n" + longest), ElementsAre("a", longest + "<cut off>"));
}

class LineBlocksFileTest : public test::FolderTest {};

TEST_F(LineBlocksFileTest, AFileIsReadUpToItsLengthWhenReadingBegan) {
  const std::string name = write("log", "a\nb\n");
  ByteSource source(name);
  LineBlocks blocks(source, 2);
  std::ofstream(name, std::ios::app) << "c\n";
  std::vector<std::string> list;
  for (LineBlocks::Block block; blocks.next(block);) split(block, list);
  EXPECT_THAT(list, ElementsAre("a", "b"));
}

TEST(LineBlocksTest, APartOfAnInputIsReadByItself) {
  const std::string bytes = "a\nbb\nccc\ndddd\nee";
  for (const std::size_t size : {1u, 3u, 100u}) {
    ByteSource source("memory", bytes);
    std::vector<std::string> list;
    LineBlocks blocks(source, 2, 9, size);
    for (LineBlocks::Block block; blocks.next(block);) split(block, list);
    EXPECT_THAT(list, ElementsAre("bb", "ccc")) << size;
  }
}

TEST_F(LineBlocksFileTest, AFileThatIsCutShortMeanwhileEndsEarlier) {
  const std::string name = write("log", std::string(10'000, '\n'));
  ByteSource source(name);
  LineBlocks blocks(source, 1000);
  std::filesystem::resize_file(name, 2500);
  std::vector<std::string> list;
  for (LineBlocks::Block block; blocks.next(block);) split(block, list);
  EXPECT_EQ(list.size(), 2500U);
}

TEST_F(LineBlocksFileTest, EachBlockSaysHowMuchOfTheFileHasBeenRead) {
  ByteSource source(write("log", std::string(4000, '\n')));
  LineBlocks blocks(source, 1000);
  std::vector<double> parts;
  for (LineBlocks::Block block; blocks.next(block);) parts.push_back(block.upTo);
  EXPECT_THAT(parts, ElementsAre(0.25, 0.5, 0.75, 1.0));
}

}  // namespace
}  // namespace pipetrace
