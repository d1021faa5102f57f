#pragma once

#include <optional>
#include <string>

#include "analysis/bubbles/bubbles.h"
#include "analysis/explain/culprits.h"
#include "analysis/run/run.h"
#include "schedule/comm_streams.h"

namespace pipetrace {

/// The lines of a run that has any: kRank if some rank exchanges messages with several others on
/// one of them, else kPeer.
CommStreams linesOfRun(const JobGraph& graph);

/// "8RECV_F0 on rank 0 and 6 more receives, posted before their data came, hold up messages behind
/// them". `group` is of kBlocked and has all messages in front. Those that are counted are the
/// fewest that cost four fifths of its time.
std::string heldLinesText(const JobGraph& graph, const CulpritGroup& group);

/// A run with its messages in the order of their times.
struct RunInTime {
  Nanoseconds length = 0;  ///< of a step, by a simulation with the medians of the run's times
  CommStreams lines = CommStreams::kRank;  ///< the run's
  std::string command;                     ///< that writes its plan; empty: no schedule is known
};

/// Simulates a step of the run on its own lines, its messages in the order of their times
/// (withMessagesInTime()). None where the step is not all there, or no plan has its order.
/// `logs` stands in the command.
std::optional<RunInTime> runInTime(const Run& run, const std::string& logs);

}  // namespace pipetrace
