#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <mutex>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "runtime/testing/run_ranks.h"
#include "runtime/transport/gloo_device.h"
#include "runtime/transport/gloo_pairs.h"
#include "runtime/transport/gloo_store.h"

namespace pipetrace {
namespace {

// Ranks of one process count only their own ends of connections.
TEST(GlooTrafficTest, ARankCountsTheBytesOfAMessageOnceWhetherItSendsOrReceivesIt) {
  constexpr std::int64_t kBytes = 3'000'000;
  constexpr std::uint64_t kMostOfHeaders = 10'000;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::mutex making;
  testing::runRanksOrThrow(2, [&](int rank) {
    auto options = c10d::ProcessGroupGloo::Options::create();
    GlooDevice device;
    {
      const std::lock_guard lock(making);
      device = makeGlooDevice("127.0.0.1");
    }
    EXPECT_EQ(device.ports.size(), 1U);
    options->devices.push_back(device.device);
    const auto group = c10::make_intrusive<LazyGroup>(store, rank, 2, options);
    GlooPairs pairs(group, std::make_shared<GlooStore>(store), 60 * kNsPerSecond, device.ports);
    const int peer = 1 - rank;
    pairs.open(peer, [] {});
    pairs.await(peer, [] {});
    std::vector<at::Tensor> word{at::zeros({1}, at::kByte)};
    std::vector<at::Tensor> message{at::zeros({kBytes}, at::kByte)};
    const std::uint64_t before = pairs.traffic().bytesMoved();
    if (rank == 0) {
      group->send(message, peer, 1)->wait();
      group->recv(word, peer, 2)->wait();
    } else {
      group->recv(message, peer, 1)->wait();
      group->send(word, peer, 2)->wait();
    }
    const std::uint64_t moved = pairs.traffic().bytesMoved() - before;
    EXPECT_GE(moved, std::uint64_t{kBytes}) << rank;
    EXPECT_LE(moved, kBytes + kMostOfHeaders) << rank;
  });
}

}  // namespace
}  // namespace pipetrace
