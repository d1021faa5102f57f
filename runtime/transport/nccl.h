#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "runtime/control/start/key_value.h"
#include "runtime/transport/gloo_store.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// A rank that is to be connected through NCCL.
struct NcclOptions {
  std::shared_ptr<RunStore> store;  ///< GlooRun::store
  int rank = 0;
  int worldSize = 1;
  c10::Device device = c10::kCPU;
  Nanoseconds timeout = 120 * kNsPerSecond;  ///< for all ranks to come to this
};

/// NCCL's backend of all ranks, for a LineTransport. Loads the library pipetrace_nccl, after
/// openDevices("cuda"). Throws Error that says what is missing, and where two ranks have one
/// device.
c10::intrusive_ptr<c10d::Backend> connectNccl(const NcclOptions& options);

/// Compares `place`, where this rank's device is, with those of the ranks before it. Throws Error
/// on all ranks if two have the same: NCCL would refuse them later.
void requireOwnDevices(KeyValue& words, int rank, int worldSize, const std::string& place,
                       Nanoseconds timeout);

}  // namespace pipetrace
