#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "runtime/testing/run_ranks.h"
#include "runtime/transport/gloo_pairs.h"
#include "runtime/transport/gloo_store.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

// Ranks of one process count only their own ends of connections, although both devices are made at
// once, and a socket of somebody else's.
TEST(GlooTrafficTest, ARankCountsTheBytesOfAMessageOnceWhetherItSendsOrReceivesIt) {
  constexpr std::int64_t kBytes = 3'000'000;
  constexpr std::uint64_t kMostOfHeaders = 10'000;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const OwnedFd other = listenAt("127.0.0.1");
  const OwnedFd talker = connectTo("127.0.0.1", portOf(other), kNsPerSecond);
  const OwnedFd answerer = acceptFrom(other);
  testing::runRanksOrThrow(2, [&](int rank) {
    auto options = c10d::ProcessGroupGloo::Options::create();
    const GlooDevice device = makeGlooDevice("127.0.0.1");
    std::set<int> newPorts = device.newPorts;
    newPorts.insert(portOf(other));
    options->devices.push_back(device.device);
    const auto group = c10::make_intrusive<LazyGroup>(store, rank, 2, options);
    GlooPairs pairs(group, std::make_shared<GlooStore>(store), 60 * kNsPerSecond, newPorts);
    const int peer = 1 - rank;
    pairs.open(peer, [] {});
    pairs.await(peer, [] {});
    std::vector<at::Tensor> word{at::zeros({1}, at::kByte)};
    std::vector<at::Tensor> message{at::zeros({kBytes}, at::kByte)};
    const std::uint64_t before = pairs.traffic().bytesMoved();
    const std::string noise(100'000, 'x');
    if (rank == 0) ::send(talker.get(), noise.data(), noise.size(), 0);
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
