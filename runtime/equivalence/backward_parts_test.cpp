// Training with last backwards in parts has the bits of training without.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/stage_work.h"
#include "runtime/sums/gradient_sums.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/schedule_names.h"
#include "runtime/testing/training_case.h"
#include "schedule/backward_parts.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/with_recompute.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RankResult;
using testing::TrainingCase;
using testing::Wiring;

/// "" if all ranks have the bits of one process, which knows no parts.
std::string partsDifference(Wiring wiring, const TrainingCase& training, const CheckedPlan& plan) {
  std::vector<RankResult> results(plan->ranks.size());
  const auto errors = runConnected(wiring, plan->numRanks(), [&](Transport& transport) {
    results[static_cast<std::size_t>(transport.rank())] = trainRank(training, plan, transport);
  });
  for (const std::string& error : errors) {
    if (!error.empty()) return error;
  }
  return testing::firstDifference(results, trainAlone(training, *plan));
}

/// Eight blocks with skips, ties and dropout.
TrainingCase richInParts(const Plan& plan, double recompute = 0) {
  return {.numStages = plan.numStages,
          .microBatches = plan.microBatchesOfReplica(),
          .rows = 2 * plan.microBatchesOfReplica() + 1,
          .steps = 2,
          .model = testing::CaseModel::kRich,
          .recompute = recompute};
}

CheckedPlan inParts(const std::string& name, int ranks, int microBatches, int parts,
                    int replicas = 1) {
  Plan plan = withReplicas(buildSchedule(name, ranks, microBatches), replicas);
  return CheckedPlan(withLastBackwardParts(std::move(plan), parts));
}

class EveryScheduleInParts : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryScheduleInParts, HasTheBitsOfOneProcess) {
  const CheckedPlan plan = inParts(GetParam(), 2, 4, 2);
  EXPECT_EQ(partsDifference(Wiring::kInProcess, richInParts(*plan), plan), "");
}

TEST_P(EveryScheduleInParts, HasThemInTwoReplicas) {
  const CheckedPlan plan = inParts(GetParam(), 2, 4, 2, 2);
  EXPECT_EQ(partsDifference(Wiring::kInProcess, richInParts(*plan), plan), "");
}

INSTANTIATE_TEST_SUITE_P(All, EveryScheduleInParts,
                         ::testing::ValuesIn(testing::synchronousSchedules()),
                         [](const auto& test) { return testing::asTestName(test.param); });

TEST(BackwardPartsTruth, ReplicasHaveTheBitsOfOneProcessOverGloo) {
  for (const char* const name : {"1F1B", "ZB-H1"}) {
    const CheckedPlan plan = inParts(name, 2, 4, 3, 2);
    EXPECT_EQ(partsDifference(Wiring::kGloo, richInParts(*plan), plan), "") << name;
  }
}

TEST(BackwardPartsTruth, AsManyPartsAsBlocksHaveThemInOneStageAndInTwo) {
  for (const int ranks : {1, 2}) {
    for (const char* const name : {"1F1B", "ZB-H1"}) {
      const CheckedPlan plan = inParts(name, ranks, 3, 8 / ranks, 3);
      EXPECT_EQ(partsDifference(Wiring::kInProcess, richInParts(*plan), plan), "") << name << ranks;
    }
  }
}

TEST(BackwardPartsTruth, StagesThatRecomputeHaveThemWhereverTheyAreCut) {
  for (const double recompute : {0.3, 0.6, 1.0}) {
    for (const int parts : {1, 2, 3}) {
      for (const char* const name : {"1F1B", "ZB-H1"}) {
        Plan plan = withReplicas(buildSchedule(name, 2, 4), 2);
        const Plan cut = withLastBackwardParts(plan, parts);
        const CheckedPlan again(withRecompute(cut, {true, true}));
        const TrainingCase training = richInParts(cut, recompute);
        EXPECT_EQ(partsDifference(Wiring::kInProcess, training, again), "")
            << name << " " << recompute << " " << parts;
        // Without jobs of its own for them, the first part recomputes.
        EXPECT_EQ(partsDifference(Wiring::kInProcess, training, CheckedPlan(cut)), "");
      }
    }
  }
}

TEST(BackwardPartsTruth, ClippingAndMixedPrecisionHaveThem) {
  const CheckedPlan plan(withScalarAllReduce(*inParts("1F1B", 2, 4, 2, 2)));
  TrainingCase training = richInParts(*plan);
  training.clipNorm = 0.1;
  EXPECT_EQ(partsDifference(Wiring::kInProcess, training, plan), "");
}

TEST(BackwardPartsTruth, AStageOnTwoOfThreeRanksAndOneBucketHaveThem) {
  const CheckedPlan map(withLastBackwardParts(buildOnStageRanks("1F1B", {{0, 1}, {2}}, 6), 2));
  EXPECT_EQ(partsDifference(Wiring::kInProcess, richInParts(*map), map), "");
  // A file may reduce all at once, behind the last part.
  const CheckedPlan atOnce = readPlan(
      "# ranks_of_stage = 0, replicas = 2\n0F0,0B0.0,0B0.1,0REDUCE_GRAD\n"
      "0F1,0B1.0,0B1.1,0REDUCE_GRAD\n",
      "at once");
  EXPECT_EQ(partsDifference(Wiring::kInProcess, richInParts(*atOnce), atOnce), "");
}

/// Training without parts, of the same plan, on the same ranks.
TEST(BackwardPartsTruth, TrainingHasTheBitsOfTheSamePlanWithoutParts) {
  const auto train = [](const CheckedPlan& plan) {
    std::vector<RankResult> results(plan->ranks.size());
    const auto errors = runConnected(Wiring::kInProcess, plan->numRanks(), [&](Transport& to) {
      results[static_cast<std::size_t>(to.rank())] = trainRank(richInParts(*plan), plan, to);
    });
    EXPECT_THAT(errors, Each(""));
    return results;
  };
  for (const char* const name : {"1F1B", "ZB-H1", "Interleaved1F1B", "ZBV"}) {
    EXPECT_EQ(testing::firstDifference(train(inParts(name, 2, 4, 2, 2)),
                                       train(inParts(name, 2, 4, 1, 2))),
              "")
        << name;
  }
}

TEST(BackwardPartsTruth, MorePartsThanBlocksAreRefusedWithTheStage) {
  const CheckedPlan plan = inParts("1F1B", 2, 2, 5);
  EXPECT_THAT(partsDifference(Wiring::kInProcess, richInParts(*plan), plan),
              HasSubstr("the last backward of stage 0 is in 5 parts, and the stage has 4 blocks"));
}

TEST(BackwardPartsTruth, RanksOfAStageThatCutItDifferentlyAreRefused) {
  const CheckedPlan plan = readPlan(
      "# ranks_of_stage = 0, replicas = 2\n0F0,0B0.0,0REDUCE_GRAD0,0B0.1,0REDUCE_GRAD1\n"
      "0F1,0B1,0REDUCE_GRAD0,0REDUCE_GRAD1\n",
      "unlike");
  EXPECT_THAT(partsDifference(Wiring::kInProcess, richInParts(*plan), plan),
              HasSubstr("rank 1 has the last backward of stage 0 in 1, and rank 0 in 2"));
}

/// Notes the parts and the buckets of a rank, in their order.
class NotedWork : public ForwardingWork {
 public:
  NotedWork(StageWork& inner, std::vector<std::string>& notes)
      : ForwardingWork(inner), notes_(notes), buckets_(*inner.buckets(), notes) {}
  GradientBuckets* buckets() override { return &buckets_; }
  void runPart(const Action& part, JobMessages messages) override {
    ForwardingWork::runPart(part, messages);
    notes_.push_back(toText(part));
  }

 private:
  class Noted : public GradientBuckets {
   public:
    Noted(GradientBuckets& inner, std::vector<std::string>& notes) : inner_(inner), notes_(notes) {}
    at::Tensor fill(const GradientBucket& bucket) override {
      const at::Tensor filled = inner_.fill(bucket);
      notes_.push_back("bucket " + std::to_string(bucket.number) + " of " +
                       std::to_string(bucket.of) + ", " + (bucket.isOfPart ? "part" : "share"));
      return filled;
    }
    at::Tensor addUp(const GradientBucket& bucket, std::int64_t first,
                     const std::vector<at::Tensor>& parts) override {
      return inner_.addUp(bucket, first, parts);
    }
    void summed(const GradientBucket& bucket) override { inner_.summed(bucket); }

   private:
    GradientBuckets& inner_;
    std::vector<std::string>& notes_;
  };

  std::vector<std::string>& notes_;
  Noted buckets_;
};

TEST(BackwardPartsTruth, ABucketIsFilledRightBehindItsPart) {
  for (const char* const name : {"1F1B", "ZB-H1"}) {
    const CheckedPlan plan = inParts(name, 1, 2, 2, 2);
    TrainingCase training = richInParts(*plan);
    training.steps = 1;
    std::vector<std::string> notes;
    const auto errors = runConnected(Wiring::kInProcess, 2, [&](Transport& transport) {
      std::vector<std::string> own;
      trainRank(training, plan, transport, {}, {.around = [&](StageWork& inner) {
                  return std::make_unique<NotedWork>(inner, own);
                }});
      if (transport.rank() == 0) notes = own;
    });
    EXPECT_THAT(errors, Each(""));
    const std::string letter = name == std::string("1F1B") ? "B" : "W";
    EXPECT_THAT(notes, ElementsAre("0" + letter + "1.0", "bucket 0 of 2, part",
                                   "0" + letter + "1.1", "bucket 1 of 2, part"));
  }
}

}  // namespace
}  // namespace pipetrace
