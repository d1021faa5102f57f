#include "runtime/train/model/random_numbers.h"

#include <ATen/ops/dropout.h>
#include <ATen/ops/feature_dropout.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/dropout.h>
#include <torch/utils.h>

#include <set>
#include <thread>
#include <vector>

namespace pipetrace {
namespace {

constexpr double kShare = 0.3;

at::Tensor droppedAt(const RandomPlace& place) {
  const RandomNumbersAt numbers(place);
  return at::dropout(at::ones({50, 40}), kShare, true);
}

TEST(RandomNumbers, DropoutDependsOnSeedStepMicroBatchAndBlockAlone) {
  const RandomPlace place{.seed = 7, .step = 1, .microBatch = 2, .block = 3};
  torch::manual_seed(1);
  const at::Tensor first = droppedAt(place);
  torch::manual_seed(2);
  EXPECT_TRUE(droppedAt(place).equal(first));
  for (const RandomPlace& other : std::vector<RandomPlace>{
           {8, 1, 2, 3}, {7, 2, 2, 3}, {7, 1, 3, 3}, {7, 1, 2, 4}, {7, 2, 1, 3}, {7, 1, 3, 2}}) {
    EXPECT_FALSE(droppedAt(other).equal(first));
  }
}

TEST(RandomNumbers, DropoutKeepsItsShareAndScalesTheRest) {
  const at::Tensor dropped = droppedAt({.seed = 3});
  const double zeros = dropped.eq(0).sum().item<double>() / 2000;
  EXPECT_NEAR(zeros, kShare, 0.05);
  EXPECT_TRUE(dropped.masked_select(dropped.ne(0)).allclose(at::ones({1}) / (1 - kShare)));
}

TEST(RandomNumbers, ThreadsThatDropAtTheSameTimeGetTheNumbersOfTheirPlaces) {
  std::vector<at::Tensor> alone;
  for (int mb = 0; mb < 8; ++mb) alone.push_back(droppedAt({.microBatch = mb}));
  std::vector<std::thread> threads;
  std::vector<int> different(4);
  for (std::size_t t = 0; t < different.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        for (int mb = 0; mb < 8; ++mb) {
          different[t] +=
              droppedAt({.microBatch = mb}).equal(alone[static_cast<std::size_t>(mb)]) ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, std::vector<int>(4));
}

TEST(RandomNumbers, LayersAndAttentionDropByThePlace) {
  torch::nn::Dropout layer(kShare);
  torch::nn::Dropout inPlace(torch::nn::DropoutOptions(kShare).inplace(true));
  torch::nn::Dropout2d maps(kShare);
  const at::Tensor query = at::ones({2, 3, 8, 4});
  const auto run = [&] {
    const RandomNumbersAt numbers({.seed = 5, .block = 1});
    return std::vector{layer(at::ones({30, 30})), inPlace(at::ones({30, 30})),
                       maps(at::ones({5, 6, 2, 2})),
                       at::scaled_dot_product_attention(query, query, query, {}, 0.5)};
  };
  torch::manual_seed(1);
  const auto first = run();
  torch::manual_seed(2);
  const auto second = run();
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].equal(second[i])) << i;
  const at::Tensor whole = first[2].flatten(2);  // a map is dropped as a whole or not at all
  EXPECT_TRUE(whole.select(2, 0).equal(whole.select(2, 3)));
  EXPECT_GT(whole.eq(0).sum().item<int>(), 0);
}

TEST(RandomNumbers, WithoutAPlaceDropoutDrawsFromTheDefaultGenerator) {
  const auto run = [] {
    torch::manual_seed(4);
    return at::dropout(at::ones({100}), kShare, true);
  };
  const at::Tensor before = run();
  droppedAt({});
  EXPECT_TRUE(run().equal(before));
  EXPECT_FALSE(at::dropout(at::ones({100}), kShare, true).equal(before));
  const RandomNumbersAt numbers({});
  EXPECT_TRUE(at::dropout(at::ones({3}), kShare, false).equal(at::ones({3})));
  EXPECT_TRUE(at::dropout(at::ones({3}), 1.0, true).eq(0).all().item<bool>());
}

TEST(RandomNumbers, SeedsOfWeightsDiffer) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (int block = 0; block < 50; ++block) seeds.insert(weightSeed(seed, block) & 0xFFFF'FFFF);
  }
  EXPECT_EQ(seeds.size(), 1000U) << "a generator takes 32 bits of its seed";
}

}  // namespace
}  // namespace pipetrace
