#pragma once

#include <c10/core/Device.h>

#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace pipetrace {

/// The functions of the library pipetrace_nccl, which is loaded after LibTorch's for CUDA.
struct NcclLibrary {
  static constexpr const char* kFile = "libpipetrace_nccl.so";
  static constexpr const char* kBusOf = "pipetraceBusOfDevice";
  static constexpr const char* kMakeGroup = "pipetraceMakeNcclGroup";

  /// The device's place on the bus of its machine.
  using BusOf = void (*)(c10::Device device, std::string& bus);
  /// NCCL's group of all ranks, which has one communicator, on that device. Waits until the others
  /// make theirs. Throws c10::Error.
  using MakeGroup = void (*)(const c10::intrusive_ptr<c10d::Store>& store, int rank, int worldSize,
                             c10::Device device, c10::intrusive_ptr<c10d::Backend>& group);
};

}  // namespace pipetrace
