#include "parser/byte_source.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "parser/testing/files.h"
#include "parser/testing/gzip.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::gzipped;
using test::inFrame;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

std::string all(ByteSource& source, std::size_t step = 1000) {
  std::string bytes;
  std::string window(step, '\0');
  while (const std::size_t n = source.read(window.data(), window.size())) {
    bytes.append(window, 0, n);
  }
  return bytes;
}

std::string longText() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

class ByteSourceTest : public test::FolderTest {};

TEST_F(ByteSourceTest, AFileIsReadAsItIs) {
  const std::string text = longText();
  ByteSource source(write("a", text));
  EXPECT_EQ(all(source), text);
  EXPECT_EQ(source.name(), path("a"));
}

TEST_F(ByteSourceTest, PeekingTakesNothingAway) {
  ByteSource source(write("a", "abcdef"));
  EXPECT_EQ(source.peek(3), "abc");
  EXPECT_EQ(source.peek(100), "abcdef");
  EXPECT_EQ(source.peek(2), "ab");
  char first = 0;
  EXPECT_EQ(source.read(&first, 1), 1U);
  EXPECT_EQ(source.peek(2), "bc");
  EXPECT_EQ(all(source, 2), "bcdef");
  EXPECT_EQ(source.peek(2), "");
}

TEST_F(ByteSourceTest, EmptyAndTinyFilesAreReadToo) {
  for (const std::string text : {"", "a", "\x1f", "\x1f\x8b", "\x28\xb5\x2f"}) {
    ByteSource source(write("a", text));
    EXPECT_EQ(source.peek(10), text);
    EXPECT_EQ(all(source), text);
  }
}

TEST_F(ByteSourceTest, SeveralGzipMembersInOneFileAreAllInflated) {
  const std::string text = longText();
  ByteSource one(write("a", gzipped(text)));
  EXPECT_EQ(one.peek(5), text.substr(0, 5));
  EXPECT_EQ(all(one), text);
  EXPECT_EQ(one.damage(), "");
  ByteSource two(write("b", gzipped(text) + gzipped("and more")));
  EXPECT_EQ(all(two, 77), text + "and more");
  EXPECT_EQ(two.damage(), "");
}

TEST_F(ByteSourceTest, CutOffGzipGivesItsFirstBytesAndIsReported) {
  const std::string text = longText();
  const std::string whole = gzipped(text);
  ByteSource source(write("a", whole.substr(0, whole.size() / 2)));
  const std::string got = all(source);
  EXPECT_GT(got.size(), 0U);
  EXPECT_EQ(text.substr(0, got.size()), got);
  EXPECT_EQ(source.damage(), "its compressed data is cut off; what came before was read");
}

TEST_F(ByteSourceTest, DamagedGzipIsReported) {
  std::string bytes = gzipped(longText());
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 50; ++i) bytes[i] ^= 0x55;
  ByteSource source(write("a", bytes));
  all(source);
  EXPECT_EQ(source.damage(), "its compressed data is damaged; what came before was read");
}

TEST_F(ByteSourceTest, FramesOfZstdAreDecoded) {
  const std::string text = longText();
  ByteSource one(write("a", inFrame(text)));
  EXPECT_EQ(one.plainSize(), std::nullopt);
  EXPECT_EQ(one.peek(5), text.substr(0, 5));
  EXPECT_EQ(all(one), text);
  EXPECT_EQ(one.damage(), "");
  ByteSource several(write("b", inFrame("some\n") + inFrame("") + inFrame(text) + inFrame("more")));
  EXPECT_EQ(all(several, 77), "some\n" + text + "more");
  EXPECT_EQ(several.damage(), "");
  // As much as is decoded at a time.
  const std::string even(std::size_t{1} << 17, 'x');
  ByteSource exact(write("c", inFrame(even)));
  EXPECT_EQ(all(exact), even);
  EXPECT_EQ(exact.damage(), "");
}

TEST_F(ByteSourceTest, OfACutOffFrameIsReadWhatThereIsAndTheRestWhenItHasCome) {
  const std::string text = longText();
  const std::string whole = inFrame("first\n") + inFrame(text);
  const std::string file = write("a", whole.substr(0, whole.size() / 2));
  ByteSource source(file);
  std::string got = all(source);
  EXPECT_EQ(("first\n" + text).substr(0, got.size()), got);
  EXPECT_EQ(source.damage(), "its compressed data is cut off; what came before was read");
  std::ofstream(file, std::ios::app | std::ios::binary) << whole.substr(whole.size() / 2);
  got += all(source);
  EXPECT_EQ(got, "first\n" + text);
  EXPECT_EQ(source.damage(), "");
}

TEST_F(ByteSourceTest, FramesBehindADamagedOneAreReadAndTheDamageIsReported) {
  const std::string text = longText();
  std::string damaged = inFrame(text);
  for (std::size_t i = damaged.size() / 2; i < damaged.size() / 2 + 50; ++i) damaged[i] ^= 0x55;
  const std::string whole = inFrame(text);
  const std::string torn = whole.substr(0, whole.size() - 10);
  for (const std::string& middle :
       {damaged, torn, std::string("no frame at all"), std::string(1, 'x')}) {
    const std::string bytes = inFrame("first\n") + middle +
                              inFrame("lost, if the one before is torn\n") + inFrame("last\n");
    std::string before;
    for (const std::size_t step : {1, 1000}) {
      ByteSource source(write("a", bytes));
      const std::string got = all(source, step);
      EXPECT_THAT(got, AllOf(StartsWith("first\n"), EndsWith("\nlast\n")));
      EXPECT_EQ(source.damage(), "a part of its compressed data is damaged, and was left out");
      if (step > 1) EXPECT_EQ(got, before);
      before = got;
    }
  }
}

TEST_F(ByteSourceTest, APipeThatHandsOverOneByteAtATimeIsRead) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string bytes = gzipped("hello from a pipe");
  std::thread writer([&] {
    std::ofstream out(path("pipe"), std::ios::binary);
    for (const char c : bytes) out << c << std::flush;
  });
  ByteSource source(path("pipe"));
  EXPECT_EQ(all(source), "hello from a pipe");
  writer.join();
}

TEST_F(ByteSourceTest, BytesInMemoryAreASourceToo) {
  ByteSource source("a name", "bytes");
  EXPECT_EQ(source.name(), "a name");
  EXPECT_EQ(source.peek(2), "by");
  EXPECT_EQ(all(source), "bytes");
}

TEST_F(ByteSourceTest, InputsThatCannotBeReadAreNamedWithAdvice) {
  EXPECT_THAT([&] { ByteSource(path("none")); },
              ThrowsMessage<Error>(AllOf(HasSubstr(path("none")), HasSubstr("check the name"))));
  EXPECT_THAT(
      [&] {
        ByteSource source(folder_.string());
        source.peek(1);
      },
      ThrowsMessage<Error>(AllOf(HasSubstr(folder_.string()), HasSubstr("name a file in it"))));
  std::filesystem::create_symlink("loop", path("loop"));
  EXPECT_THAT([&] { ByteSource(path("loop")); },
              ThrowsMessage<Error>(HasSubstr("links lead back")));
}

TEST_F(ByteSourceTest, AFileThatMayNotBeReadIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  write("secret", "x");
  ASSERT_EQ(::chmod(path("secret").c_str(), 0), 0);
  EXPECT_THAT([&] { ByteSource(path("secret")); },
              ThrowsMessage<Error>(HasSubstr("you may not read it")));
}

TEST_F(ByteSourceTest, AFailingReadIsAnError) {
  if (!std::filesystem::exists("/proc/self/mem")) GTEST_SKIP() << "no /proc on this system";
  EXPECT_THAT(
      [] {
        ByteSource source("/proc/self/mem");  // nothing is mapped at address 0
        source.peek(1);
      },
      ThrowsMessage<Error>(HasSubstr("cannot read /proc/self/mem")));
}

}  // namespace
}  // namespace pipetrace
