#include "analysis/run/clocks/causal_fit.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Hosts of one rank each, and messages at the begin and at the end of spans.
class CausalFitTest : public testing::Test {
 protected:
  static constexpr double kClose = 0.1;  // drifts of bounds of some ns
  static constexpr Nanoseconds kLength = 1'000'000;

  std::size_t addHost(Nanoseconds begin = 0) {
    const std::size_t host = hosts_.size();
    hosts_.push_back(
        {"host" + std::to_string(host), {static_cast<int>(host)}, {begin, begin + kLength}});
    return host;
  }

  /// Messages by which the clock of `one` is at least `low` and at most `high` ahead of that of
  /// `other`.
  void tie(std::size_t one, std::size_t other, Nanoseconds low, Nanoseconds high) {
    for (const Nanoseconds when : {hosts_[other].span.begin, hosts_[other].span.end}) {
      cross(one, other, when + low, when);
      cross(other, one, when, when + high);
    }
  }
  void cross(std::size_t from, std::size_t to, Nanoseconds sent, Nanoseconds received) {
    crossings_.push_back({.from = from,
                          .to = to,
                          .sent = sent,
                          .received = received,
                          .sender = static_cast<int>(from),
                          .receiver = static_cast<int>(to),
                          .event = &event_});
  }

  CausalFit fit() const { return fitClocks(hosts_, crossings_); }

  std::vector<ClockHost> hosts_;
  std::vector<Crossing> crossings_;
  Event event_;
};

TEST_F(CausalFitTest, ALineIsInTheMiddleOfItsStripAndOffByHalfOfIt) {
  addHost();
  addHost();
  tie(0, 1, 90, 110);
  const CausalFit result = fit();
  EXPECT_THAT(result.contradiction, IsEmpty());
  ASSERT_THAT(result.clocks, SizeIs(2));
  EXPECT_TRUE(result.clocks[1].isKnown);
  EXPECT_NEAR(result.clocks[1].begin, 100, kClose);
  EXPECT_NEAR(result.clocks[1].end, 100, kClose);
  EXPECT_NEAR(result.clocks[1].bound, 10, kClose);
  EXPECT_EQ(result.clocks[0].begin, 0);
  EXPECT_EQ(result.clocks[0].bound, 0);
}

TEST_F(CausalFitTest, AHostIsReachedOverTheHostsWithTheLeastSumOfBounds) {
  addHost();
  addHost();
  addHost();
  tie(0, 1, 90, 110);
  tie(1, 2, 40, 60);
  tie(0, 2, 0, 1000);
  const CausalFit result = fit();
  EXPECT_NEAR(result.clocks[1].begin, 100, kClose);
  EXPECT_NEAR(result.clocks[1].bound, 10, kClose);
  // 100 + 50, where the direct messages leave 500 to either side.
  EXPECT_NEAR(result.clocks[2].begin, 150, kClose);
  EXPECT_NEAR(result.clocks[2].bound, 20, kClose);
}

TEST_F(CausalFitTest, LinesWhoseMiddlesContradictOtherMessagesAreMovedIntoOrder) {
  addHost();
  addHost();
  addHost();
  tie(0, 1, 0, 10'000);        // the middle is 5000
  tie(0, 2, 0, 12'000);        // the middle is 6000
  tie(1, 2, -20'000, -3'000);  // the second line is at least 3000 above the third
  const CausalFit result = fit();
  EXPECT_THAT(result.contradiction, IsEmpty());
  // The third is at 6000, so the second is from 9000 to 10'000; then the third is from 0 to 6500.
  constexpr double kMoved = 10;  // lines keep a few ns from their edges
  EXPECT_NEAR(result.clocks[1].begin, 9500, kMoved);
  EXPECT_NEAR(result.clocks[1].end, 9500, kMoved);
  EXPECT_NEAR(result.clocks[2].begin, 3250, kMoved);
  EXPECT_NEAR(result.clocks[2].end, 3250, kMoved);
  EXPECT_NEAR(result.clocks[1].bound, 9500, kMoved) << "it may be anywhere from 0 to 10'000";
  EXPECT_NEAR(result.clocks[2].bound, 12'000 - 3250, kMoved);
}

TEST_F(CausalFitTest, ALineIsLessCertainWhereItIsReadOutsideOfItsSpan) {
  addHost();
  addHost();
  addHost(2 * kLength);
  tie(0, 1, 0, 10);
  tie(1, 2, 0, 10);
  const CausalFit result = fit();
  // One span later, a line from 0 to 10 at both ends of its span may be at -10 or at 20; two spans
  // later at -20 or at 30. The third host's own messages add 0 to 10.
  EXPECT_NEAR(result.clocks[2].begin, 10, kClose);
  EXPECT_NEAR(result.clocks[2].end, 10, kClose);
  EXPECT_NEAR(result.clocks[2].bound, 30, kClose);
}

TEST_F(CausalFitTest, AHostThatSpeaksBeforeTheFirstSpanIsAsUncertain) {
  addHost();
  addHost(kLength);
  addHost();
  tie(0, 1, 0, 10);
  tie(1, 2, 0, 10);
  const CausalFit result = fit();
  // One span before the begin it may be at -10 or at 20, plus 0 to 10.
  EXPECT_NEAR(result.clocks[2].begin, 10, kClose);
  EXPECT_NEAR(result.clocks[2].end, 10, kClose);
  EXPECT_NEAR(result.clocks[2].bound, 20, kClose);
}

TEST_F(CausalFitTest, MessagesInOneDirectionTieNoClock) {
  addHost();
  addHost();
  addHost();
  tie(0, 1, 0, 10);
  cross(1, 2, 10, 20);
  cross(0, 2, 10, 20);
  const CausalFit result = fit();
  EXPECT_THAT(result.contradiction, IsEmpty());
  EXPECT_TRUE(result.clocks[1].isKnown);
  EXPECT_FALSE(result.clocks[2].isKnown);
  EXPECT_EQ(result.clocks[2].bound, 0);
}

TEST_F(CausalFitTest, MessagesThatNoLineFitsAreNamed) {
  addHost();
  addHost();
  event_.kind = JobKind::kSendForward;
  event_.microBatch = 3;
  event_.step = 4;
  tie(0, 1, 30'000, 5'000);  // 12.5 us off at best
  const CausalFit result = fit();
  EXPECT_FALSE(result.clocks[1].isKnown);
  EXPECT_THAT(
      result.contradiction,
      HasSubstr("between the clocks of host1 and host0, some messages are received 12.50 us "
                "or more before they are sent: "));
  EXPECT_THAT(result.contradiction, HasSubstr("F3 of step 4 from rank 0 to rank 1; "));
  EXPECT_THAT(result.contradiction, HasSubstr("F3 of step 4 from rank 1 to rank 0"));
}

TEST_F(CausalFitTest, InaccuracyOfReadingsIsNoContradiction) {
  addHost();
  addHost();
  tie(0, 1, 15'000, 5'000);  // 5 us off
  const CausalFit result = fit();
  EXPECT_THAT(result.contradiction, IsEmpty());
  EXPECT_TRUE(result.clocks[1].isKnown);
  EXPECT_NEAR(result.clocks[1].begin, 10'000, 1);
}

TEST_F(CausalFitTest, SpansOfOverAGenerationAreNotFitted) {
  addHost();
  addHost();
  tie(0, 1, 0, 10);
  hosts_[1].span.end = (Nanoseconds{1} << 60) - 1;
  EXPECT_TRUE(fit().clocks[1].isKnown);
  hosts_[1].span.end = Nanoseconds{1} << 60;
  EXPECT_FALSE(fit().clocks[1].isKnown);
}

}  // namespace
}  // namespace pipetrace
