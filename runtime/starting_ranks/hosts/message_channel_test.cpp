#include "runtime/starting_ranks/hosts/message_channel.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "profiler/clock/wall_clock.h"
#include "runtime/starting_ranks/child_process.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using Kind = HostMessage::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

class MessageChannelTest : public testing::Test {
 protected:
  MessageChannelTest() { std::signal(SIGPIPE, SIG_IGN); }
  void write(const std::string& text) const {
    ASSERT_EQ(::write(pipe_.write.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  static std::optional<MessageReader::Received> await(MessageReader& reader,
                                                      Nanoseconds limit = 5 * kNsPerSecond) {
    const Nanoseconds end = monotonicNow() + limit;
    while (monotonicNow() < end) {
      reader.readSome();
      if (auto received = reader.next()) return received;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return std::nullopt;
  }

  Pipe pipe_;
};

TEST_F(MessageChannelTest, MessagesArriveInOrderWithTheirBytes) {
  MessageReader reader(pipe_.read.get(), false);
  MessageSender sender(pipe_.write.get());
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7);
  sender.send({.kind = Kind::kLog, .rank = 3, .bytes = bytes.size()}, bytes);
  sender.send({.kind = Kind::kStart, .port = 29500, .address = "10.9.0.1"});
  sender.send({.kind = Kind::kEnded,
               .rank = 3,
               .succeeded = false,
               .wasKilled = true,
               .text = "was \"killed\"\nby 9"});
  const auto log = await(reader);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->message.rank, 3);
  EXPECT_TRUE(log->bytes == bytes);
  const auto start = await(reader);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->message.kind, Kind::kStart);
  EXPECT_EQ(start->message.port, 29500);
  EXPECT_EQ(start->message.address, "10.9.0.1");
  const auto end = await(reader);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->message.wasKilled);
  EXPECT_EQ(end->message.text, "was \"killed\"\nby 9");
}

TEST_F(MessageChannelTest, AnOrderKeepsPathsWithSpacesQuotesAndUmlauts) {
  MessageReader reader(pipe_.read.get(), false);
  MessageSender sender(pipe_.write.get());
  const std::vector<std::string> command = {"/a folder/pro\"gram", "it's",      "",
                                            "t\xc3\xa4glich",      "new\nline", "$HOME `x`"};
  sender.send(
      {.kind = Kind::kPrepare,
       .command = command,
       .directory = "/my \\ folder",
       .environment = {"PIPETRACE_X=a b=c"},
       .places = {{.rank = 4, .ranks = 6, .localRank = 1, .localRanks = 2, .devices = "1,0"}},
       .meets = true,
       .port = 7});
  const auto order = await(reader);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->message.command, command);
  EXPECT_EQ(order->message.directory, "/my \\ folder");
  EXPECT_THAT(order->message.environment, ElementsAre("PIPETRACE_X=a b=c"));
  ASSERT_EQ(order->message.places.size(), 1U);
  EXPECT_EQ(order->message.places[0].rank, 4);
  EXPECT_EQ(order->message.places[0].ranks, 6);
  EXPECT_EQ(order->message.places[0].localRank, 1);
  EXPECT_EQ(order->message.places[0].localRanks, 2);
  EXPECT_EQ(order->message.places[0].devices, "1,0");
  EXPECT_TRUE(order->message.meets);
  EXPECT_EQ(order->message.port, 7);
}

TEST_F(MessageChannelTest, AnIdleSenderSaysEachSecondThatItIsThere) {
  MessageReader reader(pipe_.read.get(), false);
  MessageSender sender(pipe_.write.get());
  for (int i = 0; i < 2; ++i) {
    const auto beat = await(reader, 3 * kNsPerSecond);
    ASSERT_TRUE(beat);
    EXPECT_EQ(beat->message.kind, Kind::kBeat);
  }
  EXPECT_LT(monotonicNow() - reader.lastHeard(), kNsPerSecond);
}

TEST_F(MessageChannelTest, ASenderWhoseReaderStopsWaitsForNobody) {
  const Nanoseconds begin = monotonicNow();
  MessageSender sender(pipe_.write.get());
  const std::string bytes(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) {
    sender.send({.kind = Kind::kLog, .rank = 0, .bytes = bytes.size()}, bytes);
  }
  EXPECT_GT(sender.pending(), 3U << 20);
  sender.flush(100 * kNsPerMs);
  EXPECT_GT(sender.pending(), 3U << 20);
  EXPECT_LT(monotonicNow() - begin, 2 * kNsPerSecond);
}

TEST_F(MessageChannelTest, LinesOfAShellBeforeTheGreetingAreKeptApart) {
  MessageReader reader(pipe_.read.get(), true);
  write("Welcome to b!\nLast login: today\n> ");
  reader.readSome();
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.takeStrayText(false), "Welcome to b!\nLast login: today\n");
  write(toLine({.kind = Kind::kHello, .protocol = 1, .version = "1.2.3"}));
  const auto hello = await(reader);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->message.version, "1.2.3");
  EXPECT_EQ(reader.takeStrayText(false), "> ");
}

TEST_F(MessageChannelTest, APromptWithoutANewlineIsFoundWhenAsked) {
  MessageReader reader(pipe_.read.get(), true);
  write("Password: ");
  reader.readSome();
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.takeStrayText(false), "");
  EXPECT_EQ(reader.takeStrayText(true), "Password: ");
}

TEST_F(MessageChannelTest, ALineThatIsNoMessageIsAnError) {
  for (const char* line : {"no JSON", "{}", "[]", "{\"kind\":\"fly\"}", "{\"kind\":\"log\"}",
                           "{\"kind\":\"log\",\"rank\":\"x\",\"bytes\":1}", "null",
                           "{\"kind\":\"log\",\"rank\":1,\"bytes\":99999999999}"}) {
    EXPECT_THROW(readHostMessage(line), Error) << line;
  }
}

TEST_F(MessageChannelTest, APathThatIsNoUtf8IsRefused) {
  try {
    toLine({.kind = Kind::kPrepare, .command = {"/bad\xff path"}});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("is no UTF-8"));
  }
}

TEST_F(MessageChannelTest, TheEndOfTheOtherSideIsSeenAfterAllThatItSent) {
  MessageReader reader(pipe_.read.get(), false);
  write(toLine({.kind = Kind::kBye}));
  pipe_.write.reset();
  EXPECT_FALSE(reader.readSome());
  const auto last = reader.next();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->message.kind, Kind::kBye);
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace pipetrace
