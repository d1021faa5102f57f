#include "runtime/control/verdict/control_message.h"

#include <gmock/gmock.h>

#include "runtime/control/testing/plain_status.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

ControlMessage noticed() {
  ControlMessage message;
  message.word = ControlWord::kNoticed;
  message.noticed = 77;
  message.cause.kind = CauseKind::kCycle;
  message.cause.rank = 255;
  message.cause.status = testing::waiting(1LL << 40, 3, (1ULL << 48) - 1, 12);
  message.cause.lasted = -1;
  message.cause.reason = std::string("a\0b", 3);
  message.cause.cycle = {{.rank = 255, .status = testing::computing(7)},
                         {.rank = 3, .status = testing::finishing(8)}};
  message.cause.hosts = {{.name = "h3", .ranks = {12, 13}}, {.name = "", .ranks = {}}};
  message.cause.missedBy = {{.name = "h0", .ranks = {65533}}};
  return message;
}

ControlMessage missed(std::vector<int> ranks) {
  ControlMessage message;
  message.word = ControlWord::kMissed;
  message.missed = std::move(ranks);
  return message;
}

// The length that the bytes have.
void setLength(std::string& bytes) {
  const std::size_t length = bytes.size() - 4;
  for (int byte = 0; byte < 4; ++byte) {
    bytes[static_cast<std::size_t>(byte)] = static_cast<char>(length >> 8 * byte & 0xFF);
  }
}

TEST(ControlMessage, ReadsBackWhatWasWritten) {
  std::string bytes = encode(noticed());
  const auto read = takeMessage(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->word, ControlWord::kNoticed);
  EXPECT_EQ(read->noticed, 77);
  EXPECT_EQ(read->cause, noticed().cause);
  EXPECT_TRUE(bytes.empty());
}

TEST(ControlMessage, WaitsForTheRestOfAMessage) {
  const std::string whole = encode(noticed());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::string part = whole.substr(0, size);
    EXPECT_FALSE(takeMessage(part)) << size;
    EXPECT_EQ(part.size(), size);
  }
  std::string two = whole + whole;
  EXPECT_TRUE(takeMessage(two));
  EXPECT_TRUE(takeMessage(two));
  EXPECT_FALSE(takeMessage(two));
}

TEST(ControlMessage, RefusesWhatIsNone) {
  std::string http = "GET / HTTP/1.1\r\n\r\n";
  EXPECT_THROW(takeMessage(http), Error);
  std::string cut = encode(noticed());
  cut.resize(cut.size() - 8);
  setLength(cut);
  EXPECT_THROW(takeMessage(cut), Error);
  std::string word = encode(noticed());
  word[4] = 99;
  EXPECT_THROW(takeMessage(word), Error);
}

TEST(ControlMessage, ReadsBackWhichRanksWereMissed) {
  for (const std::vector<int>& ranks : {std::vector<int>{}, {0, 15, 65533}}) {
    std::string bytes = encode(missed(ranks));
    const auto read = takeMessage(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->word, ControlWord::kMissed);
    EXPECT_EQ(read->missed, ranks);
  }
}

TEST(ControlMessage, EveryCutThroughHostsAndRanksIsRefused) {
  for (const ControlMessage& message : {noticed(), missed({3, 4})}) {
    const std::string whole = encode(message);
    for (std::size_t size = 4; size < whole.size(); ++size) {
      std::string cut = whole.substr(0, size);
      setLength(cut);
      EXPECT_THROW(takeMessage(cut), Error) << size;
    }
  }
}

TEST(ControlMessage, ACountOfRanksBeyondTheBytesIsRefused) {
  std::string bytes = encode(missed({3, 4}));
  for (std::size_t byte = 20; byte < 28; ++byte) bytes[byte] = static_cast<char>(0xFF);
  EXPECT_THROW(takeMessage(bytes), Error);
}

TEST(ActionProgress, ShowsWhatTheRankSaid) {
  ActionProgress progress;
  EXPECT_EQ(progress.look(), ActionStatus{});
  progress.enter(3);
  progress.begin(7);
  progress.waitingFor(65533, (1ULL << 48) - 1);
  ActionStatus status = progress.look();
  EXPECT_EQ(status.action, 7);
  EXPECT_EQ(status.program, 3);
  EXPECT_TRUE(status.inside);
  EXPECT_EQ(status.awaited.peer, 65533);
  EXPECT_EQ(status.awaited.number, (1ULL << 48) - 1);
  progress.ended();
  status = progress.look();
  EXPECT_FALSE(status.inside);
  EXPECT_FALSE(status.isWaiting());
  EXPECT_EQ(status.action, 7);
  EXPECT_EQ(status.ended, 1U);
}

}  // namespace
}  // namespace pipetrace
