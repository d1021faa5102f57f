#pragma once

#include <memory>

#include "runtime/control/control_channel.h"
#include "runtime/control/same_run.h"
#include "runtime/launch/process_env.h"
#include "runtime/transport/gloo_tags.h"
#include "runtime/transport/transport.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct GlooOptions {
  ProcessEnv env;
  Nanoseconds connectTimeout = 120 * kNsPerSecond;  ///< for all ranks to come together
  Nanoseconds waitTimeout =
      600 * kNsPerSecond;  ///< for a peer's message; a dead peer shows at once
  /// Whether messages move while the rank computes. If not, the compute thread receives, and waits
  /// for each of its sends (PaddlePaddle's enable_send_recv_overlap).
  bool overlaps = true;
  GlooTags tags{};
};

/// One process per rank, over c10d's Gloo on the CPU. Returns when all ranks are connected; throws
/// Error if they do not come together in time.
///
/// A message is a fixed header (which message, deadline, type, shape) and the tensor's bytes
/// (GlooLaneOptions), so receivers need not know shapes ahead and uneven micro-batches work.
/// Tensors have at most 8 dimensions; any number of stages and micro-batches goes.
std::unique_ptr<Transport> connectGloo(const GlooOptions& options);

/// A rank's connections. The control channel goes first.
struct GlooRun {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<ControlChannel> control;
};

/// connectGloo(), then compares `facts` with the other ranks' (requireSameRun()), then connects the
/// control channel. `control` needs no rank, world size and onFailure: when the run fails, the
/// transport is aborted. Messages are then waited for without a limit: the control channel knows
/// better. Throws Error as these three do.
GlooRun connectGlooRun(GlooOptions options, ControlOptions control, const RunFacts& facts);

}  // namespace pipetrace
