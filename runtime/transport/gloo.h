#pragma once

#include <memory>
#include <optional>

#include "profiler/clock/clock_exchange.h"
#include "runtime/control/control_channel.h"
#include "runtime/control/start/same_run.h"
#include "runtime/starting_ranks/process_env.h"
#include "runtime/transport/gloo_lanes.h"
#include "runtime/transport/transport.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct RunStore;

/// Opens the store of a run before its ranks come together. Rank 0 serves it for as long as it has
/// what this returns, and a run that uses it. Throws Error for a store that is not there in time.
std::shared_ptr<RunStore> openRunStore(const ProcessEnv& env, Nanoseconds connectTimeout);

struct GlooOptions {
  ProcessEnv env;
  std::shared_ptr<RunStore> store = {};             ///< null: it is opened
  Nanoseconds connectTimeout = 120 * kNsPerSecond;  ///< for all ranks to come together
  /// For one connection, when the other side waits for it.
  Nanoseconds linkTimeout = 8 * kNsPerSecond;
  Nanoseconds waitTimeout =
      600 * kNsPerSecond;  ///< for a peer's message; a dead peer shows at once
  /// Whether messages move while the rank computes. If not, the compute thread receives, and waits
  /// for each of its sends (PaddlePaddle's enable_send_recv_overlap).
  bool overlaps = true;
  GlooTags tags{};
};

/// One process per rank, over c10d's Gloo on the CPU. Returns when all ranks are connected; throws
/// Error on all ranks if one does not come in time.
///
/// Ranks talk to each other through the interface that leads to MASTER_ADDR, or that which
/// GLOO_SOCKET_IFNAME names. Rank 0's store takes connections at MASTER_ADDR alone if that is an
/// address of its host.
///
/// A message is a fixed header (which message, deadline, type, shape) and the tensor's bytes
/// (GlooLaneOptions), so receivers need not know shapes ahead and uneven micro-batches work.
/// Tensors have at most 8 dimensions; any number of stages and micro-batches goes.
std::unique_ptr<Transport> connectGloo(const GlooOptions& options);

/// A rank's connections. The control channel goes first.
struct GlooRun {
  std::shared_ptr<RunStore> store;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<ControlChannel> control;
  std::optional<RunClock> clock;  ///< where the run has several hosts
};

/// Does what connectGloo() does, compares `facts` with the other ranks' (awaitSameRun()), and
/// connects the control channel. For data a rank is connected with those ranks alone to which it
/// opens a lane. `control` needs no rank and world size. When the run fails, the transport is
/// aborted, and then its onFailure is called. Messages are waited for without a limit: the control
/// channel knows better. Throws Error as these three do.
GlooRun connectGlooRun(GlooOptions options, ControlOptions control, const RunFacts& facts);

}  // namespace pipetrace
