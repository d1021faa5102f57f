#include "runtime/engine/data_set.h"

#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>

#include "runtime/testing/error_of.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

DataSet dataOfRows(std::int64_t rows, std::int64_t batchSize) {
  return {.rows = rows, .batchSize = batchSize, .batch = [](auto, auto) { return Batch(); }};
}

TEST(DataSteps, TrainingLeavesOutWhatNoStepCanTake) {
  // Two replicas of 8 rows: two steps, and 5 rows are left, 2 for each with one to spare.
  const DataSteps steps = DataSteps::ofTraining(dataOfRows(37, 8), 2, 2);
  EXPECT_EQ(steps.count(), 3);
  EXPECT_EQ(steps.leftOut(), 1);
  EXPECT_EQ(steps.rowsOf(1, 1).first, 24);
  EXPECT_EQ(steps.rowsOf(1, 1).count, 8);
  EXPECT_EQ(steps.rowsOf(2, 1).first, 34);
  EXPECT_EQ(steps.rowsOf(2, 1).count, 2);
  EXPECT_EQ(DataSteps::ofTraining(dataOfRows(37, 8), 2, 3).count(), 2)
      << "3 micro-batches need 3 rows";
}

TEST(DataSteps, AnEndlessTrainingTakesNoMemoryForItsSteps) {
  constexpr int kSteps = 1 << 30;
  const DataSet data = dataSetOfSteps(
      [](int step, int replica) {
        return Batch{{"step", at::scalar_tensor(step, at::kInt)},
                     {"replica", at::scalar_tensor(replica, at::kInt)}};
      },
      kSteps, 1 << 10, 2);
  const DataSteps steps = DataSteps::ofTraining(data, 2, 8);
  EXPECT_EQ(steps.count(), kSteps);
  const RowRange last = steps.rowsOf(kSteps - 1, 1);
  const Batch batch = data.batch(last.first, last.count);
  EXPECT_EQ(batch.at("step").item<int>(), kSteps - 1);
  EXPECT_EQ(batch.at("replica").item<int>(), 1);
  EXPECT_EQ(DataSteps::ofEvaluation(data, 2).rowsOf(kSteps - 1).count, 2 << 10);
}

TEST(DataSteps, EvaluationTakesEachRowOnce) {
  for (const int replicas : {1, 2, 3}) {
    for (std::int64_t rows = replicas; rows < 40; ++rows) {
      const DataSteps steps = DataSteps::ofEvaluation(dataOfRows(rows, 4), replicas);
      std::int64_t next = 0;
      for (int step = 0; step < steps.count(); ++step) {
        for (int replica = 0; replica < replicas; ++replica) {
          const RowRange part = steps.rowsOf(step, replica);
          ASSERT_EQ(part.first, next);
          ASSERT_GE(part.count, 1);
          next += part.count;
        }
        ASSERT_GE(steps.leastRowsOf(step), 1);
      }
      ASSERT_EQ(next, rows);
    }
  }
  EXPECT_THAT(testing::errorOf([] { DataSteps::ofEvaluation(dataOfRows(2, 4), 3); }),
              HasSubstr("2 rows, and there are 3 replicas"));
}

}  // namespace
}  // namespace pipetrace
