#include "schedule/file/torch_csv.h"

#include <gmock/gmock.h>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(const Plan& plan) {
  try {
    toTorchCsv(CheckedPlan(plan));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Plan full(const char* name, int ranks, int microBatches) {
  return addTransfers(buildSchedule(name, ranks, microBatches));
}

TEST(TorchCsv, GradientsAreReducedAfterTheLastBackwardOfEachStage) {
  EXPECT_EQ(toTorchCsv(full("1F1B", 2, 2)),
            "0RECV_B0,0F0,0SEND_F0,0F1,0SEND_F1,0B0,0RECV_B1,0B1,0REDUCE_GRAD\n"
            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_GRAD\n");
}

TEST(TorchCsv, AWeightHalfEndsTheBackward) {
  EXPECT_THAT(toTorchCsv(full("ZB-H1", 2, 2)), HasSubstr(",0W1,0REDUCE_GRAD\n"));
  EXPECT_THAT(toTorchCsv(full("ZBV", 2, 4)),
              AllOf(HasSubstr("0W3,0REDUCE_GRAD"), HasSubstr("1W3,1REDUCE_GRAD"),
                    HasSubstr("2W3,2REDUCE_GRAD"), HasSubstr("3W3,3REDUCE_GRAD")));
}

TEST(TorchCsv, FusedPairsAreWritten) {
  const Plan plan = readPlan("0F0,1F0,(0F1;1B0)OVERLAP_F_B,1F1,0B0,1B1,0B1\n", "plan");
  EXPECT_EQ(toTorchCsv(CheckedPlan(plan)),
            "0F0,1F0,(0F1;1B0)OVERLAP_F_B,1F1,0B0,1B1,1REDUCE_GRAD,0B1,0REDUCE_GRAD\n");
}

TEST(TorchCsv, AReductionThatIsThereStaysAlone) {
  const Plan plan = readPlan("0UNSHARD,0F0,0F1,0B0,0B1,0RESHARD,0REDUCE_GRAD\n", "plan");
  EXPECT_EQ(toTorchCsv(CheckedPlan(plan)), "0UNSHARD,0F0,0F1,0B0,0B1,0RESHARD,0REDUCE_GRAD\n");
  const Plan buckets = readPlan("0F0,0B0,0REDUCE_GRAD0,0UNSHARD,0REDUCE_GRAD1\n", "plan");
  EXPECT_EQ(toTorchCsv(CheckedPlan(buckets)), "0F0,0B0,0UNSHARD,0REDUCE_GRAD\n");
}

TEST(TorchCsv, NothingButRowsIsWritten) {
  Plan plan = full("1F1B", 2, 2);
  plan.credits = 2;
  EXPECT_THAT(toTorchCsv(CheckedPlan(plan)), Not(HasSubstr("#")));
}

TEST(TorchCsv, ARankAloneNeedsNoMessages) {
  EXPECT_EQ(toTorchCsv(buildSchedule("1F1B", 1, 1)), "0F0,0B0,0REDUCE_GRAD\n");
}

TEST(TorchCsv, PlansThatTorchDoesNotRunAreRefused) {
  EXPECT_EQ(refusal(buildSchedule("1F1B", 2, 2)),
            "cannot write 1F1B for torch: it has no sends and receives, which torch wants in the "
            "file; add them with --transfers in-time");
  EXPECT_EQ(refusal(withRecompute(full("1F1B", 2, 2), {true, false})),
            "cannot write 1F1B for torch: torch has no recompute like 0R0 (rank 0, cell 5)");
  EXPECT_EQ(refusal(full("DualPipe", 2, 4)),
            "cannot write DualPipe for torch: its stages are on several ranks, and in torch on "
            "one each");
  EXPECT_EQ(refusal(full("PipeDream", 2, 4)),
            "cannot write PipeDream for torch: it is asynchronous, and torch changes the weights "
            "once a step, after all micro-batches");
  EXPECT_EQ(refusal(full("ForwardOnly", 2, 4)),
            "cannot write ForwardOnly for torch: it has no backward passes, and torch wants one "
            "for each forward");
  EXPECT_EQ(refusal(readPlan("0F0,0B0,1UNSHARD\n", "mine")),
            "cannot write mine for torch: 1UNSHARD (rank 0, cell 2) is on another rank than its "
            "stage, which torch refuses");
}

}  // namespace
}  // namespace pipetrace
