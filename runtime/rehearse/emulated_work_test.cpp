// The times of messages on emulated links, by hand.
#include "runtime/rehearse/emulated_work.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

/// Links of 1 GB/s that take 3 ms; messages of 2 MB, so 2 ms on the wire.
class EmulatedMessage : public ::testing::Test {
 protected:
  static constexpr Nanoseconds kMs = kNsPerMs;

  EmulatedMessage() : work_(costs(), 1, device_) {}

  static Costs costs() {
    StageCosts stage{.forward = 10 * kMs, .backward = 20 * kMs};
    stage.message = 2'000'000;
    Costs costs = Costs::equal(2, stage);
    costs.transfer = 3 * kMs;
    costs.bandwidth = 1'000'000'000;
    return costs;
  }
  /// The transfer of a message that has left the wire at 50 ms, to a receive posted at `posted`.
  PlannedTransfers::Span received(Nanoseconds posted, bool waitsForPost) {
    Message message{.deadline = 50 * kMs};
    const PlannedTransfers::Span span =
        work_.plannedTransfers()->receive({.stage = 1}, message, 0, posted, waitsForPost);
    EXPECT_EQ(message.deadline, span.end) << "the message is there at its end";
    return span;
  }

  EmulatedStream device_;
  EmulatedWork work_;
};

TEST_F(EmulatedMessage, ArrivesAfterTheLatencyOfItsLinkWheneverItsReceiveIsPosted) {
  for (const Nanoseconds posted : {40 * kMs, 60 * kMs}) {
    EXPECT_EQ(received(posted, false).end, (50 + 3) * kMs);
  }
  EXPECT_EQ(received(40 * kMs, false).begin, 40 * kMs);
  EXPECT_EQ(received(60 * kMs, false).begin, 53 * kMs) << "it is there already";
}

TEST_F(EmulatedMessage, ThatWaitsForItsReceiveBeginsNoEarlierThanThat) {
  EXPECT_EQ(received(40 * kMs, true).end, (50 + 3) * kMs) << "it leaves at 48 ms";
  EXPECT_EQ(received(60 * kMs, true).end, (60 + 2 + 3) * kMs);
  EXPECT_EQ(received(60 * kMs, true).begin, 60 * kMs);
}

}  // namespace
}  // namespace pipetrace
