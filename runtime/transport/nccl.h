#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <string>

#include "runtime/control/start/run_start.h"
#include "runtime/transport/gloo_store.h"
#include "runtime/transport/line_transport.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The messages that share a communicator.
enum class NcclCommunicators {
  kRank,  ///< all messages: they run in line, in the plan's order
  /// Those of a lane. NCCL does not promise that this ends: it wants the communicators of a device
  /// to be used in one order on all of them.
  kLane,
};

/// A rank that is to be connected through NCCL.
struct NcclOptions {
  std::shared_ptr<RunStore> store;  ///< GlooRun::store
  int rank = 0;
  int worldSize = 1;
  c10::Device device = c10::kCPU;
  NcclCommunicators communicators = NcclCommunicators::kRank;
  Nanoseconds timeout = 120 * kNsPerSecond;  ///< for all ranks to come to this
};

/// The backends of a LineTransport over NCCL, and nothing else of its options. That of all ranks is
/// made here. Loads the library pipetrace_nccl, after openDevices("cuda"). Throws Error that says
/// what is missing, and where two ranks have one device.
LineTransportOptions connectNccl(const NcclOptions& options);

/// Compares `place`, where this rank's device is, with those of the ranks before it. Throws Error
/// on all ranks if two have the same: NCCL would refuse them later.
void requireOwnDevices(KeyValue& words, int rank, int worldSize, const std::string& place,
                       Nanoseconds timeout);

}  // namespace pipetrace
