#pragma once

#include <memory>
#include <string>

#include "runtime/control/control_channel.h"
#include "runtime/control/key_value.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct MeshOptions {
  std::string host = "127.0.0.1";  ///< an address of this host under which the others reach it
  /// How often ranks tell where they are; 0: by the number of ranks, beatOf(). The limits of
  /// ControlOptions grow with it.
  Nanoseconds beat = 0;
  Nanoseconds connectTimeout = 60 * kNsPerSecond;  ///< for all ranks to come
};

/// A control channel between processes: a TCP connection between every two ranks, and one thread
/// in each. A process that ends is noticed at once, because the system closes its connections.
///
/// Returns when all ranks are connected. Their addresses are in `store` under "control/<rank>".
/// `store` is used in this call only. Throws Error if a rank does not come, or fails while
/// connecting; its text names the ranks.
std::unique_ptr<ControlChannel> connectControlMesh(ControlOptions options, MeshOptions mesh,
                                                   KeyValue& store);

}  // namespace pipetrace
