// Loads NCCL's part of the runtime on one GPU: a group of one rank, which sends to itself. That
// finds out whether the library fits LibTorch's, what a message costs the host, and whether works
// block a stream and the group can be aborted. Messages between GPUs need two.
//    nccl_group_check
// Exit code: 0 all good, 1 not, 2 could not, 77 there is no CUDA device or no libtorch_cuda.so.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>

#include <cstdio>
#include <memory>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "profiler/clock/wall_clock.h"
#include "runtime/device/rank_device.h"
#include "runtime/transport/nccl.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kNothingHere = 77;
constexpr int kMessages = 1000;

/// One message of this rank to itself, as MessageLine issues it.
c10::intrusive_ptr<c10d::Work> sendToItself(c10d::Backend& group, const at::Tensor& from,
                                            const at::Tensor& to) {
  std::vector<at::Tensor> sent{from};
  std::vector<at::Tensor> received{to};
  group.startCoalescing();
  group.send(sent, 0, 0);
  group.recv(received, 0, 0);
  return group.endCoalescing();
}

int run() {
  try {
    openDevices("cuda");
  } catch (const Error& error) {
    std::printf("  not run: %s\n", error.what());
    return kNothingHere;
  }
  RankDevice device(c10::Device(c10::kCUDA, 0), 1);
  const RankDevice::Current current(device);
  const auto connect = [&] {
    const auto store = std::make_shared<RunStore>(RunStore{c10::make_intrusive<c10d::HashStore>()});
    return connectNccl({.store = store, .worldSize = 1, .device = device.device()}).backend;
  };
  auto group = connect();
  const at::Tensor from = at::arange(1 << 20, at::TensorOptions(device.device()));
  const at::Tensor to = at::empty_like(from);
  sendToItself(*group, from, to)->wait();
  bool isGood = at::equal(from, to);
  std::printf("  a message of this rank to itself: %s\n", isGood ? "whole" : "not the same bits");

  const Nanoseconds begin = monotonicNow();
  for (int i = 0; i < kMessages; ++i) sendToItself(*group, from, to)->wait();
  const Nanoseconds issued = monotonicNow();
  device.record()->synchronize();
  const Nanoseconds done = monotonicNow();
  std::printf("  %d messages: issued in %.1f us each, done after %.1f us each\n", kMessages,
              static_cast<double>(issued - begin) / 1e3 / kMessages,
              static_cast<double>(done - begin) / 1e3 / kMessages);
  group->shutdown();
  group = connect();
  group->abort();
  std::printf("  a group was ended in order, and another one aborted\n");
  return isGood ? 0 : 1;
}

}  // namespace
}  // namespace pipetrace

int main() {
  try {
    return pipetrace::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nccl_group_check: %s\n", error.what());
    return 2;
  }
}
