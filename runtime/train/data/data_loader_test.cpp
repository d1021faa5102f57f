#include "runtime/train/data/data_loader.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/testing/error_of.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using testing::errorOf;
using ::testing::HasSubstr;

Batch numbered(int step) { return {{"inputs", at::tensor({step})}}; }

int numberOf(const Batch& batch) { return batch.at("inputs").item<int>(); }

class DataLoaderTest : public ::testing::TestWithParam<int> {};  // batches ahead

TEST_P(DataLoaderTest, EachStepGetsItsBatch) {
  DataLoader loader(numbered, 5, GetParam());
  for (int step = 0; step < 5; ++step) EXPECT_EQ(numberOf(loader.take(step)), step);
}

TEST_P(DataLoaderTest, AnExceptionArrivesAtTheStepThatItIsFor) {
  const auto failing = [](int step) {
    if (step == 1) throw Error("the file ends early");
    return numbered(step);
  };
  DataLoader loader(failing, 3, GetParam());
  EXPECT_EQ(numberOf(loader.take(0)), 0);
  EXPECT_EQ(errorOf([&] { loader.take(1); }), "the file ends early");
  EXPECT_EQ(numberOf(loader.take(2)), 2) << "and the next step gets its own batch";
}

TEST_P(DataLoaderTest, AStepOutOfOrderOrAfterTheLastIsRefused) {
  DataLoader loader(numbered, 2, GetParam());
  EXPECT_THAT(errorOf([&] { loader.take(1); }), HasSubstr("step 1 was asked for, but next is"));
  EXPECT_EQ(numberOf(loader.take(0)), 0);
  EXPECT_THAT(errorOf([&] { loader.take(0); }), HasSubstr("step 0 was asked for, but next is"));
  EXPECT_EQ(numberOf(loader.take(1)), 1);
  EXPECT_EQ(errorOf([&] { loader.take(2); }), "there is no data for step 2, only for 2 steps");
}

TEST_P(DataLoaderTest, NothingIsLeftOfBatchesThatNobodyTook) {
  const auto witness = std::make_shared<int>();
  {
    DataLoader loader([witness](int step) { return numbered(step + *witness); }, 9, GetParam());
    if (GetParam() > 0) loader.take(0);
  }
  EXPECT_EQ(witness.use_count(), 1) << "the function is gone, so its thread is, too";
}

INSTANTIATE_TEST_SUITE_P(All, DataLoaderTest, ::testing::Values(0, 1, 3));

TEST(DataLoaderThreadTest, TheNextBatchIsMadeWhileTheCallerWorks) {
  std::latch made(1);
  DataLoader loader(
      [&](int step) {
        if (step == 1) made.count_down();
        return numbered(step);
      },
      2);
  loader.take(0);
  made.wait();  // for ever, if take(1) had to come first
  EXPECT_EQ(numberOf(loader.take(1)), 1);
}

TEST(DataLoaderThreadTest, NoMoreBatchesAreMadeThanMayWait) {
  constexpr int kAhead = 2;
  std::mutex mutex;
  int taken = 0;  // counted before the batch is taken
  std::vector<int> excess;
  DataLoader loader(
      [&](int step) {
        const std::lock_guard lock(mutex);
        if (step >= taken + kAhead) excess.push_back(step);
        return numbered(step);
      },
      50, kAhead);
  for (int step = 0; step < 50; ++step) {
    {
      const std::lock_guard lock(mutex);
      ++taken;
    }
    loader.take(step);
  }
  EXPECT_THAT(excess, ElementsAre());
}

TEST(DataLoaderThreadTest, WithNothingAheadTheCallerMakesTheBatch) {
  std::vector<std::thread::id> makers;
  DataLoader loader(
      [&](int step) {
        makers.push_back(std::this_thread::get_id());
        return numbered(step);
      },
      2, 0);
  EXPECT_TRUE(makers.empty());
  loader.take(0);
  EXPECT_THAT(makers, ElementsAre(std::this_thread::get_id()));
}

TEST(DataLoaderThreadTest, TheEndWaitsForTheBatchInTheMaking) {
  std::latch begun(1);
  std::latch mayEnd(1);
  bool ended = false;
  auto loader = std::make_unique<DataLoader>(
      [&](int step) {
        begun.count_down();
        mayEnd.wait();
        ended = true;
        return numbered(step);
      },
      9);
  begun.wait();
  std::thread other([&] { mayEnd.count_down(); });
  loader.reset();
  EXPECT_TRUE(ended);
  other.join();
}

TEST(DataLoaderThreadTest, AnErrorThatNobodyTookIsNoHarm) {
  std::latch thrown(1);
  DataLoader loader(
      [&](int step) -> Batch {
        thrown.count_down();
        throw Error("no batch " + std::to_string(step));
      },
      1);
  thrown.wait();
}

TEST(DataLoaderThreadTest, MissingFunctionsAndNegativeNumbersAreRefused) {
  EXPECT_THAT(errorOf([] { const DataLoader loader({}, 1); }), HasSubstr("needs a function"));
  EXPECT_EQ(errorOf([] { const DataLoader loader(numbered, -1); }),
            "there cannot be -1 steps of data");
  EXPECT_EQ(errorOf([] { const DataLoader loader(numbered, 1, -2); }),
            "cannot load -2 batches ahead");
}

}  // namespace
}  // namespace pipetrace
