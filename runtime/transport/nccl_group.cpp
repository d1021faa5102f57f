#include "runtime/transport/nccl_group.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

namespace {

// The size of c10d's options depends on the version of NCCL's header.
void requireSameNccl() {
  const std::uint64_t ofTorch = torch::cuda::nccl::version() >> 16;
  constexpr std::uint64_t kOurs = std::uint64_t{NCCL_MAJOR} << 16 | NCCL_MINOR;
  TORCH_CHECK(ofTorch == kOurs, "LibTorch is built for NCCL ", ofTorch >> 16, ".", ofTorch & 0xFFFF,
              ", and this program for NCCL ", NCCL_MAJOR, ".", NCCL_MINOR);
}

extern "C" __attribute__((visibility("default"))) void pipetraceBusOfDevice(c10::Device device,
                                                                            std::string& bus) {
  std::array<char, 64> text{};
  TORCH_CHECK(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device.index()) ==
                  cudaSuccess,
              "the device ", device, " has no place on a bus");
  bus = text.data();
}

extern "C" __attribute__((visibility("default"))) void pipetraceMakeNcclGroup(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int worldSize, c10::Device device,
    c10::intrusive_ptr<c10d::Backend>& group) {
  requireSameNccl();
  // The control channel ends a run. c10d's own watch would end the process without its logs.
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", /*overwrite=*/1);
  setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 1);
  // Works block streams and not the host.
  unsetenv("TORCH_NCCL_BLOCKING_WAIT");
  unsetenv("NCCL_BLOCKING_WAIT");
  // High priority has streams beside the 32 among which a rank's are.
  const auto options = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
  // Else each message is issued on a thread of NCCL's, for which this one waits.
  options->config.blocking = 1;
  // The control channel knows how long is too long.
  options->timeout = std::chrono::hours(24 * 30);
  auto made = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>("nccl", store), rank, worldSize, options);
  // A bound device has one communicator for all ranks. Else c10d makes one for each two ranks at
  // their first message.
  made->setBoundDeviceId(device);
  made->eagerConnectSingleDevice(device);
  group = std::move(made);
}

}  // namespace
