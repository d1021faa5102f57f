#include "schedule/file/paddle_job_list.h"

#include <gtest/gtest.h>

#include "schedule/build_schedule.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// Written by hand from the passes' loops.

std::string jobs(const Plan& plan, int rank, const PaddleJobListOptions& options = {}) {
  return toText(paddleJobList(plan, rank, options));
}

TEST(PaddleJobList, FThenBOpensWithLrAndClosesWithTheOptimizer) {
  EXPECT_EQ(jobs(buildSchedule("FThenB", 2, 3), 0),
            "lr(0) forward(0) forward(1) forward(2) backward(0) backward(1) backward(2) "
            "optimizer(0)");
}

TEST(PaddleJobList, OneFOneBAlternatesInTheStablePhase) {
  EXPECT_EQ(jobs(buildSchedule("1F1B", 2, 4), 0),
            "lr(0) forward(0) forward(1) backward(0) forward(2) backward(1) forward(3) "
            "backward(2) backward(3) optimizer(0)");
  EXPECT_EQ(jobs(buildSchedule("1F1B", 2, 3), 1),
            "lr(0) forward(0) backward(0) forward(1) backward(1) forward(2) backward(2) "
            "optimizer(0)");
}

TEST(PaddleJobList, EagerOneFOneBWarmsUpLonger) {
  EXPECT_EQ(jobs(buildSchedule("Eager1F1B", 2, 4), 0),
            "lr(0) forward(0) forward(1) forward(2) backward(0) forward(3) backward(1) "
            "backward(2) backward(3) optimizer(0)");
}

TEST(PaddleJobList, WithoutLrTheListIsThatOfLaterPaddlePaddleVersions) {
  EXPECT_EQ(jobs(buildSchedule("1F1B", 1, 1), 0, {.lr = false}),
            "forward(0) backward(0) optimizer(0)");
}

TEST(PaddleJobList, OverlapTakesThePartsOfTheStablePhaseInTurns) {
  EXPECT_EQ(
      jobs(buildSchedule("1F1B", 2, 3), 0, {.lr = false, .backwardParts = 3, .forwardParts = 2}),
      "forward(0) forward(1) "
      "backward(chunk0)(0) forward(chunk0)(2) backward(chunk1)(0) forward(chunk1)(2) "
      "backward(chunk2)(0) "
      "backward(1) backward(2) optimizer(0)");
}

TEST(PaddleJobList, OverlapOfFThenBHasNoStablePhaseToSplit) {
  EXPECT_EQ(
      jobs(buildSchedule("FThenB", 1, 2), 0, {.lr = false, .backwardParts = 2, .forwardParts = 2}),
      "forward(0) forward(1) backward(0) backward(1) optimizer(0)");
}

TEST(PaddleJobList, TransfersStandAroundTheStablePhasesForward) {
  EXPECT_EQ(jobs(buildSchedule("1F1B", 2, 2), 1, {.lr = false, .transfers = true}),
            "recv_forward(0) forward(0) "
            "backward(0) recv_forward(1) send_backward(0) forward(1) "
            "backward(1) send_backward(1) optimizer(0)");
}

TEST(PaddleJobList, JobTypesNameChunksAndHalves) {
  EXPECT_EQ(jobs(buildSchedule("Interleaved1F1B", 1, 1, 2), 0),
            "lr(0) forward0(0) forward1(0) backward1(0) backward0(0) optimizer(0)");
  EXPECT_EQ(jobs(buildSchedule("ZB-H1", 1, 1), 0),
            "lr(0) forward(0) backward_b(0) backward_w(0) optimizer(0)");
}

TEST(PaddleJobList, PlansThatAJobListCannotHoldAreErrors) {
  EXPECT_THROW(paddleJobList(buildSchedule("1F1B", 2, 2), 2), Error);
  EXPECT_THROW(paddleJobList(buildSchedule("1F1B", 2, 2), -1), Error);
  EXPECT_THROW(paddleJobList(buildSchedule("DualPipeV", 2, 4), 0), Error);
  EXPECT_THROW(paddleJobList(buildSchedule("DualPipe", 2, 4), 0), Error);
  EXPECT_THROW(paddleJobList(buildSchedule("PipeDream", 2, 4), 0), Error);
  EXPECT_THROW(paddleJobList(buildSchedule("1F1B", 2, 2), 0, {.backwardParts = 0}), Error);
  EXPECT_THROW(
      paddleJobList(buildSchedule("1F1B", 2, 2), 0, {.forwardParts = 2, .transfers = true}), Error);
}

}  // namespace
}  // namespace pipetrace
