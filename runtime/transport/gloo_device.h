#pragma once

#include <memory>
#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace pipetrace {

/// Gloo's thread and its socket, for a LazyGroup.
struct GlooDevice {
  std::shared_ptr<gloo::transport::Device> device;
  std::set<int> newPorts;  ///< where it waits for connections, and what GlooTraffic says
};

/// Makes one at an address of this host. Throws what Gloo throws if it is not one.
///
/// Threads that others of this process begin meanwhile are taken for its own.
GlooDevice makeGlooDevice(const std::string& address);

}  // namespace pipetrace
