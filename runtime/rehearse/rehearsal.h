#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/comm_streams.h"
#include "schedule/costs.h"
#include "trace/clock_skew.h"

namespace pipetrace {
class StopSignal;
class Transport;
}  // namespace pipetrace

namespace pipetrace {

struct RehearsalOptions {
  CheckedPlan plan;
  Costs costs;  ///< of at least the plan's stages
  /// The lines on which messages run; the plan must be a full one then.
  CommStreams commStreams = CommStreams::kAsReached;
  int steps = 1;
  std::string logDirectory;  ///< workerlog.<rank> of every rank in it is appended to
  /// By rank: the host that its log names, in whose clock it logs. Empty: all ranks are on this
  /// one.
  std::vector<MadeUpHost> hosts{};
  /// Whether the ranks of several hosts compare their clocks with rank 0's, as those of a training
  /// do.
  bool comparesClocks = true;
  /// For tests of what a rehearsal shows: stands between the executor and its transport. Empty:
  /// nothing does.
  std::function<std::unique_ptr<Transport>(Transport&)> between{};
  /// A rank that has ended no action for so long ends the rehearsal; 0: none does.
  Nanoseconds stepTimeout = 0;
  /// Ends the rehearsal early when it receives a signal; null: nothing does.
  StopSignal* stop = nullptr;
};

/// Throws Error when the costs are not for the plan's stages, or when the plan cannot run on its
/// lines. Writes nothing.
void requireRehearsable(const RehearsalOptions& options);

/// Runs a plan on emulated devices, so that a few cores show the work of many devices. The executor
/// is the one that also trains, with a thread per rank of this process. Jobs take their time by
/// waiting, and each rank writes a job log. On lines, messages move as simulate() has them, and a
/// line is a lane of the log. All ranks start together; each goes on to the next step by itself.
/// Returns when all steps have run. Throws Error when the plan cannot be rehearsed, a log cannot be
/// written, a rank stalls, or a signal came; the logs are closed first. A thread that stalls cannot
/// be ended: then the error goes to stderr, the logs are written out, and the process ends with
/// kStuckExitCode.
void rehearse(const RehearsalOptions& options);

}  // namespace pipetrace
