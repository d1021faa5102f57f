#include "analysis/present/waits_report.h"

#include <gmock/gmock.h>

#include "analysis/testing/hand_made_timeline.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using testing::EndsWith;

class WaitsReport : public testing::Test {
 protected:
  void add(int rank, Nanoseconds begin, Nanoseconds end, BubbleClass bubbleClass, int culprit,
           const char* job) {
    StringTable& strings = made_.timeline.strings;
    Event& bubble = made_.add(rank, JobKind::kBubble, begin, end, 0, -1, kBubbleLane);
    bubble.bubbleClass = bubbleClass;
    bubble.peer = culprit;
    const Argument argument =
        Argument::ofText(strings.intern(bubble_arguments::kCulprit), strings.intern(job));
    made_.timeline.setArguments(bubble, {&argument, 1});
  }

  HandMadeTimeline made_;
};

TEST_F(WaitsReport, AddsUpWhatARankWaitsForAnotherByOneCause) {
  add(0, 0, 3000, BubbleClass::kImbalance, 2, "2F0");
  add(0, 4000, 9000, BubbleClass::kImbalance, 2, "2F1");
  add(0, 9000, 11000, BubbleClass::kTransfer, 2, "2B1");
  add(1, 2000, 6000, BubbleClass::kImbalance, 2, "2F0");
  add(1, 6000, 6500, BubbleClass::kWarmUp, -1, "");
  add(2, 0, 9000, BubbleClass::kSync, 2, "optimizer");  // its own
  add(3, 0, 1000, BubbleClass::kSync, 2, "optimizer");
  EXPECT_EQ(waitsReport(made_.timeline, {1000, 10000}),
            "   waits     for      time      cause  longest for\n"
            "  rank 0  rank 2  7.000 us  imbalance          2F1\n"
            "  rank 1  rank 2  4.000 us  imbalance          2F0\n"
            "  rank 0  rank 2  1.000 us   transfer          2B1\n");
}

TEST_F(WaitsReport, SaysHowManyRowsAreLeftOut) {
  for (int rank = 1; rank <= 10; ++rank) {
    add(rank, 0, 100 * rank, BubbleClass::kTransfer, 0, "0F0");
  }
  EXPECT_THAT(waitsReport(made_.timeline, {0, 10000}),
              EndsWith("\nand 2 more, each shorter; pipe-trace report has all of a run\n"));
}

TEST_F(WaitsReport, IsEmptyWhereNobodyIsToBlame) {
  add(0, 0, 100, BubbleClass::kDrain, -1, "");
  EXPECT_EQ(waitsReport(made_.timeline, {0, 100}), "");
}

}  // namespace
}  // namespace pipetrace
