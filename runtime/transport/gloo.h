#pragma once

#include <memory>

#include "runtime/launch/process_env.h"
#include "runtime/transport/transport.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct GlooOptions {
  ProcessEnv env;
  Nanoseconds connectTimeout = 120 * kNsPerSecond;  ///< for all ranks to come together
  Nanoseconds waitTimeout =
      600 * kNsPerSecond;  ///< for a peer's message; a dead peer shows at once
};

/// One process per rank, over c10d's Gloo on the CPU. Returns when all ranks are connected; throws
/// Error if they do not come together in time.
///
/// A message is a fixed header (step, stage, micro-batch, direction, deadline, type, shape) and the
/// tensor's bytes, so receivers need not know shapes ahead and uneven micro-batches work. Keys
/// are matched by tag: stage < 1024, micro-batch < 8192, tensors of at most 8 dimensions.
std::unique_ptr<Transport> connectGloo(const GlooOptions& options);

}  // namespace pipetrace
