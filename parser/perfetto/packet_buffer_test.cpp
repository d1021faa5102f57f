#include "parser/perfetto/sequence.h"

#include <gtest/gtest.h>

#include "parser/perfetto/writer.h"
#include "parser/testing/files.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

class PacketBufferTest : public test::FolderTest {
 protected:
  /// Packets of many sizes, some larger than a piece.
  std::string packets(bool besides) {
    OutputFile out(path("p"));
    PacketBuffer buffer(out, besides);
    for (std::size_t size = 1; size < 2'000'000; size += size / 2 + 1) {
      char* const at = buffer.room(size);
      std::fill(at, at + size, static_cast<char>('a' + size % 26));
      buffer.used(at + size);
    }
    buffer.finish();
    out.commit();
    return contents("p");
  }
};

TEST_F(PacketBufferTest, AllPacketsAreWrittenInOrderOnOneThreadOrTwo) {
  std::string expected;
  for (std::size_t size = 1; size < 2'000'000; size += size / 2 + 1) {
    expected.append(size, static_cast<char>('a' + size % 26));
  }
  EXPECT_TRUE(packets(false) == expected);
  EXPECT_TRUE(packets(true) == expected);
}

TEST_F(PacketBufferTest, AnErrorOfTheOtherThreadIsThrown) {
  OutputFile out("/dev/full");
  PacketBuffer buffer(out, true);
  EXPECT_THROW(
      for (int i = 0; i < 4; ++i) {
        buffer.used(buffer.room(500'000) + 500'000);
        buffer.finish();
      },
      Error);
}

TEST_F(PacketBufferTest, TheProfileDoesNotDependOnThreads) {
  const Timeline timeline = test::oneFOneB(4, 8, 100);
  const auto written = [&](int threads) {
    OutputFile out(path("p.pftrace"));
    writePerfetto(timeline, {.threads = threads}, out);
    out.commit();
    return contents("p.pftrace");
  };
  const std::string one = written(1);
  ASSERT_GT(one.size(), std::size_t{1} << 19);  // more than one piece
  EXPECT_TRUE(written(3) == one);
}

}  // namespace
}  // namespace pipetrace
