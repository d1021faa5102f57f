#pragma once

#include <memory>
#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace pipetrace {

/// Gloo's thread and its socket, for a LazyGroup.
struct GlooDevice {
  std::shared_ptr<gloo::transport::Device> device;
  std::set<int> ports;  ///< where it waits for connections
};

/// Makes one at an address of this host. Throws what Gloo throws if it is not one.
///
/// Threads and ports that others of this process open meanwhile may be taken for its own.
GlooDevice makeGlooDevice(const std::string& address);

}  // namespace pipetrace
